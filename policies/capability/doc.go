// Package capability says what a skill may do: parse a capability, compare
// two, match a concrete request against them, and say them in plain words.
//
// It is pure. It opens no file, resolves no name and asks nobody: who granted a
// capability, for how long, and which policy may still refuse it is for the
// packages that import this one.
package capability
