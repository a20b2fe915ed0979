//go:build !race

package main

// underRace is true in a test binary with the race detector.
const underRace = false
