//go:build !race

package escape

const underRace = false
