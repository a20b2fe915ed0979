// Package guestapi lists the functions that guests import from the host: their
// names, what each is good for, and what it takes a grant for. It is for packages
// that judge or make modules, answer in the place of the host, or link an
// interpreter to it.
//
// Its table is written from sdk/hostapi/interface.json by make generate. The
// package refuses to know how a function works, which package hostfn does, and how
// its request looks, which the SDKs do.
package guestapi

import "github.com/skillet-run/skillet/policies/capability"

// A Function reaches beyond the guest.
type Function struct {
	Name string
	// Words say what it is good for, as the end of a sentence that begins "may".
	Words string
	// Action is what it takes a grant for; empty for a function that needs none.
	Action capability.Action
	// Resource is the member of its request that says what of: a path or a name.
	// It is empty for an action without a resource, and for requests, which have a
	// method and a URL.
	Resource string
}

// Functions returns the functions that reach beyond the guest, in the order of
// their description. The slice is the caller's to keep.
func Functions() []Function { return append([]Function(nil), functions[:]...) }

// Transfer returns the names of the functions that move the input, the output and
// the responses of the others. The slice is the caller's to keep.
func Transfer() []string { return append([]string(nil), transfer[:]...) }

// Names returns the names of all functions.
func Names() []string {
	names := Transfer()
	for _, f := range functions {
		names = append(names, f.Name)
	}
	return names
}
