// Command guest is the skill that the tests of the command line run: each tool
// asks the host for one thing.
package main

func main() {}
