package policies_test

import (
	"fmt"
	"log"

	"github.com/skillet-run/skillet/policies"
)

// The default policies allow what a person granted, and some files that no grant opens.
func ExampleSet_Decide() {
	set, err := policies.Default()
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range []policies.Query{
		{Request: policies.ParseRequest("fs.read:/data/boats.csv")},
		{Request: policies.ParseRequest("fs.read:/data/boats.csv"), Granted: true},
		{Request: policies.ParseRequest("fs.read:/home/ada/.ssh/id_ed25519"), Granted: true},
	} {
		q.Principal, q.Home = policies.Principal{Skill: "csv", Version: "1.0.0"}, "/home/ada/.skillet"
		d := set.Decide(q)
		fmt.Printf("%v %v: %s\n", d.Effect, d.Policies, d.Reason)
	}
	// Output:
	// deny []: no policy permits this
	// allow [granted]: a person granted it
	// deny [no-credentials]: credentials are never opened to a skill; let the host add a secret instead
}
