package host

import (
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// What an edge gives to [Open].
type (
	// A Keyring is where keys may be kept.
	Keyring = secret.Keyring
	// A Notification is what a skill has to say to a person.
	Notification = hostfn.Notification
)
