// Command http is a skill that fetches pages and files from the addresses it was
// granted. The host makes every request and checks every redirect; the skill
// turns the answer into text.
package main

func main() {}
