// Package skill is the guest side of a Skillet skill written in Go: it reads
// the input of a tool call, writes its output or error, and calls the functions
// the host offers (files, HTTP, key-value state, secrets, log, notifications).
//
// A skill is a package main built as a WASI reactor:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags='-s -w' -o main.wasm .
//
// Every tool is one exported function that hands a typed Go function to Handle:
//
//	type input struct {
//		Name string `json:"name"`
//	}
//
//	type output struct {
//		Greeting string `json:"greeting"`
//	}
//
//	func greet(in input) (output, error) {
//		if in.Name == "" {
//			return output{}, skill.Errorf(skill.Invalid, "name: must not be empty")
//		}
//		return output{Greeting: "Hello, " + in.Name}, nil
//	}
//
//	//go:wasmexport greet
//	func exportGreet() int32 { return skill.Handle(greet) }
//
//	func main() {}
//
// The package also compiles for other platforms, where every host function
// returns an error of kind Failed. The plain functions of a skill can therefore
// be tested with an ordinary go test.
//
// A module imports only the host functions it really uses: the linker drops the
// others, so the import list of a skill says what it can ask for.
//
// The package uses the standard library only, and of the compiler nothing that
// TinyGo does not document to have; where a compiler's recover does not work, a
// panic ends the call as a trap. It does not know how the host
// decides; a refused call is an error of kind Denied and nothing more.
package skill
