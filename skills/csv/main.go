// Command csv is a skill that reads, filters and summarises tables written as
// comma-separated values. It computes only: it asks for nothing and calls no
// host function.
package main

func main() {}
