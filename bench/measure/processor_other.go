//go:build !unix

package measure

import "time"

// Processor returns nil: this system is not asked for processor time.
func Processor() func() time.Duration { return nil }
