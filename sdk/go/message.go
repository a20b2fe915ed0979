package skill

// Field is a named value of a log line.
type Field struct {
	Key, Value string
}

// Log writes a line to the log of the call. The log is for people who look into
// a call afterwards; it is capped by the host and needs no grant. When two
// fields have the same key the later one counts.
func Log(level Level, message string, fields ...Field) error {
	named := make(map[string]string, len(fields))
	for _, f := range fields {
		named[f.Key] = f.Value
	}
	return logRequest{Level: level, Fields: named}.send([]byte(message))
}

// Notification is a message to the person who owns the host.
type Notification struct {
	// Severity is empty for SeverityInfo.
	Severity Severity
	// Title is one short line; it must not be empty.
	Title string
	// Text is the message itself; it may be empty.
	Text string
}

// Notify sends a notification. It needs the grant notify. Errors have kind
// Denied, Invalid, Limit (too many in one call) or IO (nobody to notify).
func Notify(n Notification) error {
	return notifyRequest{Severity: n.Severity, Title: n.Title}.send([]byte(n.Text))
}

// SecretExists says whether a secret of this name is stored. The value itself
// never reaches a guest: the host adds it to requests where the manifest says
// so. It needs the grant secret for the name.
func SecretExists(name string) (bool, error) {
	got, err := secretExistsRequest{Name: name}.send()
	return got.Exists, err
}
