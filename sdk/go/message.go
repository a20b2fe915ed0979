package skill

// Level says how much a log line matters.
type Level string

// The levels of a log line, in rising order.
const (
	LevelTrace Level = "trace"
	LevelDebug Level = "debug"
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

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
	ask := struct {
		Level  Level             `json:"level"`
		Fields map[string]string `json:"fields,omitempty"`
	}{level, named}
	_, err := request(logWrite, "log", ask, nil, []byte(message))
	return err
}

// Severity says how much a notification matters.
type Severity string

// The severities of a notification.
const (
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)

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
	if n.Severity == "" {
		n.Severity = SeverityInfo
	}
	ask := struct {
		Severity Severity `json:"severity"`
		Title    string   `json:"title"`
	}{n.Severity, n.Title}
	_, err := request(notifySend, "notify", ask, nil, []byte(n.Text))
	return err
}

// SecretExists says whether a secret of this name is stored. The value itself
// never reaches a guest: the host adds it to requests where the manifest says
// so. It needs the grant secret for the name.
func SecretExists(name string) (bool, error) {
	ask := struct {
		Name string `json:"name"`
	}{name}
	var got struct {
		Exists bool `json:"exists"`
	}
	_, err := request(secretExists, "look for secret "+name, ask, &got, nil)
	return got.Exists, err
}
