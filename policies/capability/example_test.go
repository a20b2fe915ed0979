package capability_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/skillet-run/skillet/policies/capability"
)

func ExampleParse() {
	c, err := capability.Parse("http:GET https://*.example.com/v1/**")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Words())
	for _, address := range []string{"https://api.example.com/v1/boats", "https://example.org/v1/boats"} {
		fmt.Println(address, c.Allows(capability.Request{Action: capability.HTTP, Method: "GET", Resource: address}))
	}
	// Output:
	// send GET requests to https://*.example.com/v1/... (any one name before example.com)
	// https://api.example.com/v1/boats true
	// https://example.org/v1/boats false
}

// Diff tells an update that asks for more from one that asks for less.
func ExampleDiff() {
	before, err := capability.ParseSet("fs.read:/data/**", "clock")
	if err != nil {
		log.Fatal(err)
	}
	after, err := capability.ParseSet("fs.read:/data/in/**", "random")
	if err != nil {
		log.Fatal(err)
	}
	d := capability.Diff(before, after)
	fmt.Println(strings.Join(d.Words(), "\n"))
	fmt.Println(d.Grows())
	// Output:
	// may now draw real random numbers
	// may now read files in /data/in and below (before: read files in /data and below)
	// may no longer read the current date and time
	// true
}
