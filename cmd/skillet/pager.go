package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
)

// paged shows lines that are safe to show in the pager of the person, $PAGER or less; without
// one, and where nobody sits at a terminal, they are printed. What is shown there answers no
// question: the command goes on when the pager ends, however that was.
func (t *terminal) paged(all []string) {
	text := strings.Join(all, "\n") + "\n"
	pager := t.pager()
	if pager == nil || t.pages == nil || !t.canAsk() {
		_, _ = t.err.Write([]byte(text)) // a terminal that is gone is found out by the question
		return
	}
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(text), t.pages, t.pages
	if err := pager.Start(); err != nil {
		_, _ = t.err.Write([]byte(text))
		return
	}
	_ = pager.Wait() // quitting early is not a failure
}

// pager is the program that shows long text; nil for none.
func (t *terminal) pager() *exec.Cmd {
	if t.getenv("TERM") == "dumb" {
		return nil
	}
	environ := t.environ
	command, named := lookEnv(environ, "PAGER")
	if !named {
		command = "less"
	}
	words := strings.Fields(command)
	if len(words) == 0 || command == "cat" {
		return nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil
	}
	if _, named := lookEnv(environ, "LESS"); !named {
		environ = append(slices.Clone(environ), "LESS=FRX") // end with the text, keep it on the screen
	}
	pager := exec.Command(path, words[1:]...)
	pager.Env = append(slices.Clone(environ), "LESSSECURE=1")
	if dir, err := os.Getwd(); err == nil {
		pager.Dir = dir
	}
	return pager
}
