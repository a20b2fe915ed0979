package api

import "crypto/rand"

// newID is an identifier that nobody guesses.
func newID() string { return rand.Text() }
