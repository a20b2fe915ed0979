// Command guest is the skill that the tests of the command line run: each tool
// asks the host for one thing. With the build tag part, and one of web, keep and
// files, it has only the tools that need that of the host, and those that need
// nothing.
package main

func main() {}
