package escape

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// kindAttempts open what is not a regular file.
func kindAttempts() []attempt {
	return []attempt{
		// Opening a FIFO that nobody writes to waits for ever.
		{"fifo", "hang the host on a FIFO", func(l *lab) {
			if !l.must(makeFIFO(l.path("open/fifo"))) {
				return
			}
			e := l.env(l.files("open")...)
			l.blocked(l.walkIn(e, func(c *command, at func(string) string) {
				c.open(0, -1, at("open/fifo"), 0, mayRead).read(0).open(1, -1, at("open/fifo"), 0, mayWrite)
			}))
			asks := []ask{{"fs_read", object("path", l.path("open/fifo")), ""}, {"fs_write", object("path", l.path("open/fifo")), "x"}}
			l.refusedAll(l.asks(e, asks...), asks)
		}},
		// A socket leads to whoever listens on it.
		{"socket", "talk to a socket that lies in the grant", func(l *lab) {
			name := filepath.Join(l.path("open"), "s")
			listener, err := net.Listen("unix", shorter(name))
			if !l.must(err) {
				return
			}
			defer listener.Close()
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				c.open(0, -1, at("open/s"), 0, mayRead|mayWrite).read(0).write(0, "hello")
			}))
		}},
		// Devices and the kernel's files, by links that lie in the grant.
		{"device-link", "open devices and the kernel's files through links in the grant", func(l *lab) {
			l.plant("/dev/zero", "open/zero")
			l.plant("/proc/self/environ", "open/environ")
			l.plant("/proc/self/root", "open/root")
			l.blocked(l.walk(l.files("open"), func(c *command, at func(string) string) {
				for i, name := range []string{"zero", "environ", "root/etc/hostname"} {
					c.open(i, -1, at("open/"+name), 0, mayRead).read(i)
				}
			}))
		}},
	}
}

// shorter is a path relative to the working directory where that is shorter:
// the names of sockets are.
func shorter(p string) string {
	dir, err := os.Getwd()
	if err != nil {
		return p
	}
	if rel, err := filepath.Rel(dir, p); err == nil && len(rel) < len(p) {
		return rel
	}
	return p
}

// policyAttempts use grants that are wider than anybody should give.
func policyAttempts() []attempt {
	return []attempt{
		// /proc has the environment and the memory of the host.
		{"kernel-files", "read /proc, /sys and /dev with a grant for every file", func(l *lab) {
			var asks []ask
			for _, p := range []string{"/proc/self/environ", "/proc/self/mem", "/proc/self/cwd/x", "/proc/self/root" + l.path("closed/secret"), "/proc/1/maps", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/sys/kernel/notes", "//proc//self/./environ"} {
				asks = append(asks, ask{"fs_read", object("path", p), ""})
			}
			l.refusedAll(l.asks(l.env("fs.read:/**"), asks...), asks)
		}},
		// The host keeps grants, policies and secrets below its own directory.
		{"host-home", "read and change the host's own directory with a grant for all around it", func(l *lab) {
			e := l.env("fs.read:"+l.dir+"/**", "fs.write:"+l.dir+"/**")
			asks := []ask{
				{"fs_read", object("path", l.path("home/secrets/token")), ""}, {"fs_list", object("path", l.path("home")), ""},
				{"fs_write", object("path", l.path("home/policies/mine.cedar")), "permit (principal, action, resource);"},
			}
			l.refusedAll(l.asks(e, asks...), asks)
			l.blocked(l.walkIn(e, func(c *command, at func(string) string) {
				c.open(0, -1, at("home/secrets/token"), 0, mayRead).read(0).rename(at("home"), at("mine"))
			}))
			l.absent("home/policies/mine.cedar")
		}},
		// Keys and tokens that programs of the person keep.
		{"credentials", "read a person's keys with a grant for their directory", func(l *lab) {
			e := l.env("fs.read:"+l.path("person")+"/**", "fs.read:"+l.path("open")+"/**")
			asks := []ask{{"fs_read", object("path", l.path("person/.ssh/id_rsa")), ""}, {"fs_read", object("path", l.path("person/.SSH/id_rsa")), ""}, {"fs_list", object("path", l.path("person/.ssh")), ""}}
			l.refusedAll(l.asks(e, asks...), asks)
			l.may(e, ask{"fs_read", object("path", l.path("person/notes")), ""}, granted)
		}},
		// What a shell or git runs by itself carries a guest out.
		{"autorun", "leave a file that a shell or git will run", func(l *lab) {
			e := l.env(l.files("person")...)
			var asks []ask
			for _, p := range []string{".bashrc", ".profile", ".git/hooks/pre-commit", ".git/modules/x/config", "x.git/HEAD", ".vscode/tasks.json", ".config/autostart/x.desktop"} {
				asks = append(asks, ask{"fs_write", object("path", l.path("person/"+p)), "touch /tmp/x"})
			}
			l.refusedAll(l.asks(e, asks...), asks)
			l.absent("person/.bashrc")
			l.may(e, ask{"fs_write", object("path", l.path("person/notes")), "x"}, "")
		}},
		// A grant to read is none to change.
		{"read-only", "change files that it may only read", func(l *lab) {
			name := "open/readme"
			l.blocked(l.walk([]string{"fs.read:" + l.path("open") + "/**"}, func(c *command, at func(string) string) {
				c.open(0, -1, at(name), 0, mayWrite).write(0, "x").open(1, -1, at(name), truncate, mayWrite).open(2, -1, at("open/new"), create, mayWrite)
				c.on("path_unlink_file", at(name)).on("path_create_directory", at("open/dir")).rename(at(name), at("open/new"))
				c.step("path_filestat_set_times", num(mount), num(1), c.str(at(name)), long(0), long(0), num(5))
			}))
			if b, err := os.ReadFile(l.path(name)); err != nil || string(b) != granted {
				l.breach("%s is now %q, %v", name, b, err)
			}
		}},
		// Nor the other way round.
		{"write-only", "read files that it may only write", func(l *lab) {
			e := l.env("fs.write:"+l.path("closed")+"/**", "fs.read:"+l.path("open")+"/**")
			asks := []ask{{"fs_read", object("path", l.path("closed/secret")), ""}, {"fs_list", object("path", l.path("closed")), ""}}
			l.refusedAll(l.asks(e, asks...), asks)
		}},
	}
}

// quota is what a flood of files meets.
func quota() jail.Quota {
	return jail.Quota{OpenFiles: 8, FileBytes: 1 << 20, TotalBytes: 2 << 20, Files: 16, Entries: 500}
}

// quotaAttempts use up files and disk.
func quotaAttempts() []attempt {
	return []attempt{
		// It opens the same file and never closes it.
		{"open-file-flood", "use up the host's file descriptors", func(l *lab) {
			e := l.flood(func(c *command, at func(string) string) []byte {
				return times(200, c.orTrap(c.do("path_open", c.opening(0, num(mount), at("open/readme"), 0, mayRead))))
			}, "open files")
			if tree, err := e.FS(); l.must(err) && tree.Usage().OpenFiles != 0 {
				l.breach("%d files are still open", tree.Usage().OpenFiles)
			}
		}},
		// It writes to several files, each of them within its own limit.
		{"disk-flood", "fill the disk", func(l *lab) {
			l.flood(func(c *command, at func(string) string) []byte {
				var code []byte
				for i := range 6 {
					code = append(code, c.orTrap(c.do("path_open", c.opening(i, num(mount), at("open/f"+strconv.Itoa(i)), create, mayWrite)))...)
					code = append(code, times(15, c.orTrap(c.do("fd_write", fd(i), num(c.keep(vector(0, 1<<16))), num(1), num(atSpare))))...)
				}
				return code
			}, "bytes written")
		}},
		// A file with a hole in it takes no room at once, but whoever copies it needs it.
		{"huge-file", "make a file of a terabyte", func(l *lab) {
			l.flood(func(c *command, at func(string) string) []byte {
				return w.Code(c.orTrap(c.do("path_open", c.opening(0, num(mount), at("open/huge"), create, mayWrite|mayResize))),
					c.do("fd_allocate", fd(0), long(0), long(1<<40)), w.Drop(),
					c.orTrap(c.do("fd_filestat_set_size", fd(0), long(1<<40))))
			}, "file size")
		}},
		// Many small files use up the file system as well.
		{"file-count-flood", "make more files than a file system holds", func(l *lab) {
			l.flood(func(c *command, at func(string) string) []byte {
				var code []byte
				for i := range 40 {
					code = append(code, c.orTrap(c.do("path_create_directory", num(mount), c.str(at("open/d"+strconv.Itoa(i)))))...)
				}
				return code
			}, "files created")
		}},
		// Each listing costs the host more than the guest.
		{"listing-flood", "list directories without end", func(l *lab) {
			for i := range 60 {
				l.must(l.put("open/many/"+strconv.Itoa(i), ""))
			}
			l.flood(func(c *command, at func(string) string) []byte {
				return times(40, c.orTrap(c.do("path_open", c.opening(0, num(mount), at("open/many"), directory, mayRead|mayList))),
					c.orTrap(c.do("fd_readdir", fd(0), num(atLoot), num(lootSize), long(2), num(atSpare))), c.do("fd_close", fd(0)), w.Drop())
			}, "directory entries")
		}},
		// Descriptors are kept in a table as long as the largest of them.
		{"descriptor-bomb", "make the host allocate a table for the largest descriptor there is", func(l *lab) {
			c := newCommand()
			e := l.env(l.files("open")...)
			c.then(c.orTrap(c.do("path_open", c.opening(0, num(mount), l.below(e, "open/readme"), 0, mayRead))))
			c.step("fd_renumber", fd(0), num(1<<31-1)).step("fd_renumber", fd(0), num(1<<20))
			l.failedAll(l.run(c.bytes(), e), len(c.steps))
		}},
	}
}

// orTrap traps when the result of a WASI call is not success.
func (c *command) orTrap(code []byte) []byte {
	return w.Code(code, w.If(w.Empty, w.Unreachable()))
}

// flood runs code that goes on until a quota refuses it, and judges which did,
// and what is on the disk.
func (l *lab) flood(code func(c *command, at func(string) string) []byte, what string) *hostfn.Env {
	s := l.settings(l.files("open")...)
	s.Files = quota()
	e := l.envOf(s)
	c := newCommand()
	c.then(code(c, func(name string) string { return l.below(e, name) }))
	before := l.used()
	t := l.run(c.bytes(), e)
	if l.wantLimit(t, sandbox.ErrFiles) && !hasLimit(t.err, what) {
		l.breach("the limit was another one than %s", what)
	}
	if grown := l.used() - before; grown > quota().TotalBytes {
		l.breach("%d bytes were written, the quota is %d", grown, quota().TotalBytes)
	}
	return e
}

// used is the size of all files in the grant.
func (l *lab) used() (sum int64) {
	_ = filepath.WalkDir(l.path("open"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
