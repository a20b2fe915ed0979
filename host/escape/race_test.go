//go:build race

package escape

// underRace: the race detector is in this test, and needs memory of its own.
const underRace = true
