// Command text is the text guest in Go, over skillet:host/v1: count gives
// figures of the input, echo gives it back. Built for a machine instead of the
// sandbox it is count as a program.
package main
