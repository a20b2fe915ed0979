package manifests

import "cmp"

// What holds for sessions whose manifest does not say otherwise.
const (
	DefaultSessionSeconds = 3600 // without a call
	DefaultSessions       = 10   // of one owner
)

// Sessions are the bounds on the sessions of a skill, with the defaults filled in.
type Sessions struct {
	Seconds float64 `json:"seconds"` // without a call, until a session ends
	Max     int     `json:"max"`     // of one owner
	// Discard says that what has ended is deleted, and Persist that sessions outlast
	// the process.
	Discard bool `json:"discard"`
	Persist bool `json:"persist"`
}

// Sessions returns the bounds on the skill's sessions; ok is false for a skill that
// has none.
func (m *Manifest) Sessions() (s Sessions, ok bool) {
	if m.Type != KindCodeSession {
		return Sessions{}, false
	}
	c := m.SessionConfig
	if c == nil {
		c = &SessionConfig{}
	}
	return Sessions{
		Seconds: cmp.Or(c.SessionTimeout, DefaultSessionSeconds), Max: cmp.Or(c.MaxSessions, DefaultSessions),
		Discard: c.CleanupOnExit == nil || *c.CleanupOnExit, Persist: c.StatePersistence == nil || *c.StatePersistence,
	}, true
}

// sessions checks what sessions cannot do with, and that their bounds are those of
// sessions there are.
func (c *checker) sessions() {
	m := c.m
	if m.Type == KindCodeInline && m.SessionConfig != nil {
		c.report("session_config", "remove it, or make it a code_session skill", "would be ignored: a %s skill has no sessions", m.Type)
	}
	if m.Type != KindCodeSession {
		return
	}
	if m.Snapshot == SnapshotNone {
		c.report("snapshot", "remove it", "goes against sessions, which go on from where a snapshot was taken")
	}
	for i, t := range m.Tools {
		if t.Export == ExportWASI {
			c.report("tools"+indexStep(i)+".export", "export a function that can be called again", "%s ends the program, which leaves a session nothing to go on with", ExportWASI)
		}
	}
}
