// Command text is a skill that measures and compares text. It computes only:
// it asks for nothing and calls no host function.
package main

func main() {}
