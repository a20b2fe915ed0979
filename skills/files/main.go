// Command files is a skill that reads, writes, lists and searches the files it
// was granted. It has no files of its own: every access is a host function, and
// the host decides.
package main

func main() {}
