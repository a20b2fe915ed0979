//go:build race

package plugins

// raceDetector says that the race detector is on, which takes memory of its own.
const raceDetector = true
