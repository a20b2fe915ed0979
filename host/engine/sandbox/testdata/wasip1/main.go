// Command wasip1 is a guest for the tests: a WASI command whose first argument
// says what to do.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	commands := map[string]func(args []string) error{
		"json": words, "args": args, "env": environ, "exit": exit, "panic": crash,
		"sleep": sleep, "clock": clock, "random": random, "flood": flood,
		"read": read, "write": write, "list": list, "stat": stat, "mkdir": mkdir,
		"remove": remove, "rename": rename, "append": appendTo, "truncate": truncate,
		"link": link, "walk": walk, "openmany": openMany, "createmany": createMany,
		"seek": seek, "grow": grow, "stderr": complain,
	}
	if len(os.Args) < 2 {
		commands["json"](nil)
		return
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func words([]string) error {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int{"words": len(strings.Fields(in.Text))})
}

func args(a []string) error {
	fmt.Printf("%s %q", os.Args[0], a)
	return nil
}

func environ([]string) error {
	fmt.Print(len(os.Environ()))
	return nil
}

func exit(a []string) error {
	code, err := strconv.Atoi(a[0])
	fmt.Print("before exit")
	if err == nil {
		os.Exit(code)
	}
	return err
}

func crash([]string) error { panic("on purpose") }

func sleep(a []string) error {
	d, err := time.ParseDuration(a[0])
	start := time.Now()
	time.Sleep(d)
	fmt.Print(time.Since(start) >= d)
	return err
}

func clock([]string) error {
	fmt.Print(time.Now().UTC().Format(time.DateOnly))
	return nil
}

func random([]string) error {
	b := make([]byte, 16)
	rand.Read(b)
	fmt.Print(hex.EncodeToString(b))
	return nil
}

func flood([]string) error {
	line := strings.Repeat("x", 1<<16)
	for {
		if _, err := io.WriteString(os.Stdout, line); err != nil {
			return err
		}
	}
}

func complain(a []string) error {
	n, err := strconv.Atoi(a[0])
	for range n {
		fmt.Fprintln(os.Stderr, strings.Repeat("e", 1023))
	}
	return err
}

func read(a []string) error {
	b, err := os.ReadFile(a[0])
	os.Stdout.Write(b)
	return err
}

func write(a []string) error { return os.WriteFile(a[0], []byte(strings.Join(a[1:], " ")), 0o600) }

func appendTo(a []string) error {
	f, err := os.OpenFile(a[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, s := range a[1:] {
		if _, err := f.WriteString(s); err != nil {
			return err
		}
	}
	return nil
}

func truncate(a []string) error {
	n, _ := strconv.ParseInt(a[1], 10, 64)
	return os.Truncate(a[0], n)
}

func list(a []string) error {
	entries, err := os.ReadDir(a[0])
	for _, e := range entries {
		fmt.Printf("%s %v\n", e.Name(), e.IsDir())
	}
	return err
}

func walk(a []string) error {
	return filepath.WalkDir(a[0], func(p string, d fs.DirEntry, err error) error {
		fmt.Println(p)
		return err
	})
}

func stat(a []string) error {
	info, err := os.Stat(a[0])
	if err == nil {
		fmt.Printf("%d %v", info.Size(), info.IsDir())
	}
	return err
}

func mkdir(a []string) error { return os.MkdirAll(a[0], 0o700) }

func remove(a []string) error { return os.Remove(a[0]) }

func rename(a []string) error { return os.Rename(a[0], a[1]) }

func link(a []string) error {
	return errors.Join(os.Symlink(a[0], a[1]), os.Link(a[0], a[1]))
}

func seek(a []string) error {
	f, err := os.OpenFile(a[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(-3, io.SeekEnd); err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	fmt.Printf("%s ", b)
	if err == nil {
		_, err = f.WriteAt([]byte("X"), 1)
	}
	if err == nil {
		_, err = f.ReadAt(b[:1], 0)
	}
	fmt.Printf("%s", b[:1])
	return err
}

func openMany(a []string) error {
	var open []*os.File
	for {
		f, err := os.Open(a[0])
		if err != nil {
			fmt.Print(len(open))
			return err
		}
		open = append(open, f)
	}
}

func createMany(a []string) error {
	for i := 0; ; i++ {
		f, err := os.Create(filepath.Join(a[0], strconv.Itoa(i)))
		if err != nil {
			fmt.Print(i)
			return err
		}
		f.Close()
	}
}

func grow([]string) error {
	var kept [][]byte
	for {
		kept = append(kept, make([]byte, 1<<20))
	}
}
