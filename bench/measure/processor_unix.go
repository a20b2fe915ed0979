//go:build unix

package measure

import (
	"syscall"
	"time"
)

// Processor returns a clock of the processor time that this process has used,
// on all its threads and in the kernel: it stands still while others have the
// processor. Nil where the system does not tell.
func Processor() func() time.Duration {
	return func() time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return 0 // it fails for wrong arguments only
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
}
