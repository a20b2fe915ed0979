// Package archtest keeps the shape of the module: which package may import
// which, which package owns each foreign dependency, and who may speak for a
// person. It has no code but tests.
package archtest
