//go:build !race

package worker

// underRace is true in tests with the race detector.
const underRace = false
