package hostfn

import (
	"os"

	"golang.org/x/sys/unix"
)

// look says what the system tells of what is at p, links followed.
func look(p string) (seen, bool) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, p, unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE|unix.STATX_NLINK|unix.STATX_INO, &st); err != nil {
		return seen{}, false
	}
	known := st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0
	return seen{
		device:     uint64(st.Dev_major)<<32 | uint64(st.Dev_minor),
		otherNames: st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 || !known || st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
	}, true
}

// kernelFileSystems are what /proc, /sys and their like are, wherever they are mounted.
var kernelFileSystems = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.CGROUP_SUPER_MAGIC,
	unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.PSTOREFS_MAGIC, unix.BINFMTFS_MAGIC,
}

// isKernels reports whether what is at p is the machine itself and no file of it.
func isKernels(p string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(p, &st); err != nil {
		return !os.IsNotExist(err)
	}
	for _, magic := range kernelFileSystems {
		if int64(st.Type) == magic {
			return true
		}
	}
	return false
}
