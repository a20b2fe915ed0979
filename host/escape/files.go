package escape

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// walk is what a WASI command did.
type walk struct {
	callResult
	steps []string
	codes []uint32 // of the steps
	read  string   // what it read
}

// walk runs a command that first reads a granted file, which shows that it can
// do anything at all, and then what build adds. at says how the command has to
// name a path of the lab.
func (l *lab) walk(grants []string, build func(c *command, at func(string) string)) walk {
	return l.walkIn(l.env(grants...), build)
}

// walkIn is walk in an environment.
func (l *lab) walkIn(e *hostfn.Env, build func(c *command, at func(string) string)) walk {
	at := func(name string) string { return l.below(e, name) }
	c := newCommand()
	const control = 50
	c.open(control, -1, at("open/readme"), 0, mayRead).read(control).step("fd_close", fd(control))
	begun := len(c.steps)
	build(c, at)
	k := walk{callResult: l.run(c.bytes(), e), steps: c.steps[begun:]}
	if n := 4 * len(c.steps); len(k.Output) >= n {
		k.read, k.codes = string(k.Output[:len(k.Output)-n]), words(k.Output[len(k.Output)-n:])[begun:]
	}
	if k.err == nil && !strings.HasPrefix(k.read, granted) {
		l.breach("the guest could not read what it may: %q", k.read)
	}
	return k
}

// blocked judges that a command ran to its end, and that none of the steps of
// some names succeeded; all when there are no names.
func (l *lab) blocked(k walk, names ...string) {
	if k.err != nil {
		l.breach("the guest did not get to its end: %s", cause(k.err))
		return
	}
	for i, code := range k.codes {
		name := k.steps[i]
		switch {
		case len(names) > 0 && !slices.Contains(names, name):
		case code == 0:
			l.breach("%s succeeded", name)
		default:
			l.stopped("%s: %s", name, errno(code))
		}
	}
}

// absent judges that there is nothing at a path.
func (l *lab) absent(name string) {
	if _, err := os.Lstat(l.path(name)); err == nil {
		l.breach("%s was made", name)
	}
}

// plant makes a symbolic link, as somebody who is not the guest might have.
func (l *lab) plant(target, name string) { l.must(os.Symlink(target, l.path(name))) }

// linkAttempts follow and make links.
func linkAttempts() []attempt {
	return []attempt{
		// It makes a link to a file outside and opens it.
		{"symlink-read", "read a file outside through a symbolic link it makes", func(l *lab) { l.makeLink("../closed/secret", 0, mayRead) }},
		// The same, to overwrite what is there.
		{"symlink-write", "overwrite a file outside through a symbolic link it makes", func(l *lab) { l.makeLink("../closed/canary", truncate, mayRead|mayWrite) }},
		// The same with an absolute target.
		{"symlink-absolute", "read a file outside through a symbolic link with an absolute target", func(l *lab) { l.makeLink(l.path("closed/secret"), 0, mayRead) }},
		// Links that are there already, one of them through another.
		{"symlink-found", "read a file outside through symbolic links that it finds", foundLinks},
		// A link to a directory: everything that can be done below it.
		{"symlink-directory", "list, create, delete and rename outside through a link to a directory that it finds", foundDirectory},
		// A link to itself must end the look-up and not the host.
		{"symlink-loop", "keep the host busy with links that lead to each other", func(l *lab) {
			l.plant("b", "open/a")
			l.plant("a", "open/b")
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) { c.open(0, -1, at("open/a"), 0, mayRead) }))
		}},
		// A hard link is a second name that no path check sees through.
		{"hard-link", "get a second name for a file outside by a hard link", func(l *lab) {
			l.plant("../closed/secret", "open/found")
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				c.link(at("closed/secret"), at("open/twin")).link(at("open/found"), at("open/twin")).link(at("open/readme"), at("open/twin"))
			}))
			l.absent("open/twin")
		}},
		// A hard link that is there: writing through it changes a file outside.
		{"hard-link-found", "change a file outside through a hard link that it finds", func(l *lab) {
			if !l.must(os.Link(l.path("closed/canary"), l.path("open/twin"))) {
				return
			}
			l.before, _ = snapshot(l.path("closed"))
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				c.open(0, -1, at("open/twin"), 0, mayWrite).write(0, "touched").open(1, -1, at("open/twin"), truncate, mayWrite)
			}))
		}},
		// A directory that is a link at one moment and none at the next.
		{"swap-race", "win a race against a directory that turns into a link to outside", swapRace},
	}
}

// makeLink makes a link and goes through it.
func (l *lab) makeLink(target string, oflags int32, rights int64) {
	l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
		c.symlink(target, at("open/link")).open(0, -1, at("open/link"), oflags, rights).read(0).write(0, "touched")
	}))
	l.absent("open/link")
}

func foundLinks(l *lab) {
	l.plant("../closed/secret", "open/one")
	l.plant("one", "open/two")
	l.plant(l.path("closed/secret"), "open/three")
	l.plant("../../closed/secret", "open/sub/four")
	l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
		for i, name := range []string{"one", "two", "three", "sub/four"} {
			c.open(i, -1, at("open/"+name), 0, mayRead).read(i)
		}
	}))
}

func foundDirectory(l *lab) {
	l.plant("../closed", "open/out")
	l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
		c.open(0, -1, at("open/out/secret"), 0, mayRead).read(0)
		c.open(1, -1, at("open/out"), directory, mayRead|mayList).step("fd_readdir", fd(1), num(atLoot), num(lootSize), long(0), num(atSpare))
		c.open(2, -1, at("open/out/new"), create, mayWrite).on("path_create_directory", at("open/out/dir"))
		c.on("path_unlink_file", at("open/out/canary")).rename(at("open/out/canary"), at("open/canary")).rename(at("open/readme"), at("open/out/readme"))
		c.step("path_filestat_set_times", num(mount), num(1), c.str(at("open/out/canary")), long(0), long(0), num(5))
	}))
}

// often is how many times a race has to be met on either side to be called run.
const often = 100

// swapRace opens a path over and over while its directory is replaced by a
// link and back. It goes on until both were met often: a link is there for a
// part of the refusals only.
func swapRace(l *lab) {
	l.must(l.put("open/door/secret", "what is inside"))
	stop, ended := make(chan struct{}), make(chan struct{})
	go l.swap(stop, ended)
	defer func() { close(stop); <-ended }()
	e := l.env(l.files("open")...)
	c := newCommand()
	in, refused := int32(atSpare+64), int32(atSpare+68)
	count := func(at int32) []byte { return store32(at, w.Code(load32(at), num(1), w.Op(0x6a))) }
	try := func(oflags int32, rights int64, name string) []byte {
		return w.Code(c.do("path_open", c.opening(0, fd(-1), l.below(e, "open/door/"+name), oflags, rights)),
			w.IfElse(w.Empty, count(refused), w.Code(count(in), c.reading(0), w.Drop(),
				c.do("fd_write", num(1), num(atVector+16), num(1), num(atSpare)), w.Drop(), c.do("fd_close", fd(0)), w.Drop())))
	}
	c.then(times(100, try(0, mayRead, "secret"), try(create, mayWrite, "made")))
	c.record("in", load32(in)).record("refused", load32(refused))
	m := l.load(c.bytes())
	var opened, blocked uint32
	for range 600 {
		if m == nil || opened > often && blocked > often {
			break
		}
		t := l.call(m, e, sandbox.Call{Limits: usual()})
		if n := len(t.Output); t.err != nil || n < 8 {
			l.breach("the guest did not get to its end: %s", cause(t.err))
			return
		}
		seen := words(t.Output[len(t.Output)-8:])
		opened, blocked = opened+seen[0], blocked+seen[1]
		runtime.Gosched()
	}
	if opened == 0 || blocked == 0 {
		l.breach("the race was not run: %d opened, %d refused", opened, blocked)
		return
	}
	l.stopped("every opening that met the link was refused")
}

// swap replaces a directory by a link and back, until it is told to stop. It
// leaves the directory.
func (l *lab) swap(stop <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	door, aside := l.path("open/door"), l.path("open/aside")
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Rename(door, aside)
		_ = os.Symlink("../closed", door)
		runtime.Gosched()
		_ = os.Remove(door)
		_ = os.Rename(aside, door)
		runtime.Gosched()
	}
}

// pathAttempts use names that lead elsewhere.
func pathAttempts() []attempt {
	return []attempt{
		// ".." in every place.
		{"dotted-path", "leave the grant by \"..\" in a path", func(l *lab) {
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				for i, name := range []string{at("closed/secret"), at("open/sub") + "/../../closed/secret", "./" + at("open") + "/./../closed/secret", "readme/../../closed/secret"} {
					c.open(i, -1, name, 0, mayRead).read(i)
				}
			}))
		}},
		// The path as the host knows it.
		{"absolute-path", "open absolute paths", func(l *lab) {
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				for i, name := range []string{l.path("closed/secret"), "/etc/hostname", "//" + l.path("closed/secret"), "readme\x00/../../closed/secret"} {
					c.open(i, -1, name, 0, mayRead).read(i)
				}
			}))
		}},
		// Descriptors of directories below the grant, and such as were never given.
		{"descriptor-walk", "climb from a directory it opened, and use descriptors it was never given", func(l *lab) {
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				c.then(c.do("path_open", c.opening(0, num(mount), at("open/sub"), directory, mayRead)), w.Drop())
				c.open(1, 0, "../../closed/secret", 0, mayRead).read(1)
				for _, n := range []int32{0, 1, 2, 40, -1, 1 << 30} {
					c.step("path_open", c.opening(2, num(n), "closed/secret", 0, mayRead))
				}
				c.step("fd_prestat_get", num(mount+1), num(atSpare))
			}), "path_open", "fd_read", "fd_prestat_get")
		}},
		// Moving is a way to read, when the place moved to can be read.
		{"rename", "move a file out of the grant, and one from outside in", func(l *lab) {
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				c.rename(at("open/readme"), at("closed/readme")).rename(at("closed/secret"), at("open/mine")).rename(at("closed"), at("open/all"))
			}))
		}},
		// A link that stays inside leads outside from another directory.
		{"rename-link", "move a symbolic link up, so that it leads outside", func(l *lab) {
			l.must(l.put("note", l.bench.secret))
			l.plant("../note", "open/sub/link")
			l.must(l.put("open/note", "inside"))
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				c.rename(at("open/sub/link"), at("open/link")).open(0, -1, at("open/link"), 0, mayRead).read(0)
				// Its directory is moved instead.
				c.then(c.do("path_rename", num(mount), c.str(at("open/sub")), num(mount), c.str(at("open/sub2"))), w.Drop())
			}))
		}},
		// The functions of the host take paths too.
		{"host-function-paths", "leave the grant with the paths it gives to host functions", hostFunctionPaths},
	}
}

func hostFunctionPaths(l *lab) {
	e := l.env(l.files("open")...)
	var asks []ask
	for _, p := range []string{
		"../closed/secret", l.path("open") + "/../closed/secret", l.path("closed/secret"), "/" + l.path("closed/secret"),
		"sub/../../closed/secret", "./.././closed/secret", "..", "/", "~/.ssh/id_rsa", "file://" + l.path("closed/secret"),
		"%2e%2e/closed/secret", `..\..\closed/secret`, "../closed/secret\x00.txt", "．．/closed/secret", strings.Repeat("x/", 4000),
	} {
		for _, fn := range []string{"fs_read", "fs_list", "fs_write"} {
			asks = append(asks, ask{fn, object("path", p), "touched"})
		}
	}
	l.refusedAll(l.asks(e, asks...), asks)
}
