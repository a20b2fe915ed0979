package limit_test

import (
	"fmt"

	"github.com/skillet-run/skillet/policies/limit"
)

// The ceilings of a host lower what a manifest asks for.
func ExampleCeilings_Lowered() {
	host := limit.Ceilings{MaxMemoryMB: 256, MaxExecutionSeconds: 60}
	administrator := limit.Ceilings{MaxMemoryMB: 64}
	c := host.Lowered(administrator)
	fmt.Println(c.MaxMemoryMB, c.MaxExecutionSeconds)
	fmt.Println(limit.Fields{MaxMemoryMB: 16}.Set().MemoryBytes)
	// Output:
	// 64 60
	// 16777216
}
