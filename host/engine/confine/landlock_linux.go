package confine

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readFile  = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir   = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	writeDir  = writeFile | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR
)

// OnlyFiles leaves the calling thread, and what it starts, the files and directories that
// are named, for good: call [LockThread] before. What is not there is left out. It fails
// with [ErrNoWall] where the kernel has no Landlock, and on other systems than Linux.
func OnlyFiles(places []Place) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("%w: the kernel has no Landlock", ErrNoWall)
	}
	attr := handled(int(version))
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(set))
	for _, p := range places {
		if err := allow(int(set), p.Path, p.rights()&attr.Handled_access_fs); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// rights are those of a directory.
func (p Place) rights() uint64 {
	rights := uint64(readDir)
	if p.Write {
		rights |= writeDir | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER
	}
	if p.Execute {
		rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	return rights
}

// handled is everything the kernel's version of Landlock can refuse.
func handled(version int) (a unix.LandlockRulesetAttr) {
	a.Handled_access_fs = unix.LANDLOCK_ACCESS_FS_REFER - 1
	for _, later := range []struct {
		version         int
		fs, net, scoped uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER, 0, 0},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, 0, 0},
		{4, 0, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 0},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 0, 0},
		{6, 0, 0, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	} {
		if version >= later.version {
			a.Handled_access_fs |= later.fs
			a.Handled_access_net |= later.net
			a.Scoped |= later.scoped
		}
	}
	return a
}

// allow adds a rule for a file, or a directory and all below.
func allow(set int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= readFile | writeFile | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("%s: %w", path, errno)
	}
	return nil
}

// Libraries are the directories a program needs that is linked to libraries of
// the system; a static one needs none.
func Libraries(program string) []string {
	f, err := os.Open(program)
	if err != nil {
		return nil
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			return []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"}
		}
	}
	return nil
}
