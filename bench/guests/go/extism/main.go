// Command extism is the text guest in Go, over extism:host/env.
package main

func main() {}
