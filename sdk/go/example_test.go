package skill_test

import (
	"fmt"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type input struct {
	Name string `json:"name"`
}

type output struct {
	Greeting string `json:"greeting"`
}

// greet is a tool. In a skill, the function that the module exports is
//
//	//go:wasmexport greet
//	func exportGreet() int32 { return skill.Handle(greet) }
func greet(in input) (output, error) {
	if in.Name == "" {
		return output{}, skill.Errorf(skill.Invalid, "name: must not be empty")
	}
	return output{Greeting: "Hello, " + in.Name}, nil
}

// A tool is a plain function, and is tested as one.
func Example() {
	out, err := greet(input{Name: "Ada"})
	fmt.Println(out.Greeting, err)
	_, err = greet(input{})
	fmt.Println(skill.KindOf(err), err)
	// Output:
	// Hello, Ada <nil>
	// invalid name: must not be empty
}
