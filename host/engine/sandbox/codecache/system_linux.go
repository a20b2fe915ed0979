package codecache

import "golang.org/x/sys/unix"

// expectLarge asks for large pages in memory that is about to be filled. It is of use
// from some megabytes on, and a wish.
func expectLarge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
