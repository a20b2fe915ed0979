package worker

import (
	"os"
	"runtime"
	"strconv"
)

// pipes are the files between a worker and its parent, and what it has for
// standard input and output.
type pipes struct {
	fromWorker, toWorker, readLog *os.File // ours
	send, receive, log, null      *os.File // the worker's
}

func openPipes() (p *pipes, err error) {
	p = &pipes{}
	for _, pair := range [][2]**os.File{{&p.fromWorker, &p.send}, {&p.receive, &p.toWorker}, {&p.readLog, &p.log}} {
		if *pair[0], *pair[1], err = os.Pipe(); err != nil {
			return p, err
		}
	}
	widen(p.fromWorker, p.toWorker)
	p.null, err = os.Open(os.DevNull)
	return p, err
}

func (p *pipes) closeTheirs() { closeAll(p.send, p.receive, p.log, p.null) }
func (p *pipes) closeOurs()   { closeAll(p.fromWorker, p.toWorker, p.readLog) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// environment is all a worker finds in its environment: where its directory
// is, and how many processors it may count on, which it could not find out
// itself.
func environment(dir string) []string {
	return []string{"TMPDIR=" + dir, "GOMAXPROCS=" + strconv.Itoa(runtime.GOMAXPROCS(0))}
}
