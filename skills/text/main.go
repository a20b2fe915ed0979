// Command text is a skill that measures, compares and summarizes text. It computes only:
// it asks for nothing and calls no host function.
package main

func main() {}
