// Command markdown is a skill that turns Markdown into plain text and into safe
// HTML, and lists its links. It computes only: it asks for nothing and calls no
// host function.
package main

func main() {}
