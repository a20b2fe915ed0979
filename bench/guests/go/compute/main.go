// Command compute is the compute guest in Go: each tool works over an amount
// given as a decimal number in the input and answers with a number.
package main

func main() {}
