// Command html is a skill that turns HTML into plain text and into Markdown, and
// lists its links. It computes only: it asks for nothing and calls no host function.
package main

func main() {}
