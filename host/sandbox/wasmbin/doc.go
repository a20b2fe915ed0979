// Package wasmbin reads WebAssembly core modules, refuses those that are not
// safe to compile, and rewrites the others so that they can be bounded.
//
// It knows bytes only: no engine, no skill, no manifest, no policy.
package wasmbin
