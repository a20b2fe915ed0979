package policies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/internal/strictjson"
	"github.com/skillet-run/skillet/policies/capability"
)

// MaximumFile is the name of the file that [LoadMaximum] reads.
const MaximumFile = "maximum.json"

// maximumID is the id of the policy that a [Maximum] stands for in decisions.
const maximumID = "administrator-maximum"

// A Maximum is what an administrator allows at most on this machine. What it
// does not name nobody can grant, and nothing may ask for. A field that is nil
// or zero sets no bound.
type Maximum struct {
	// Capabilities bound every grant. An empty list, unlike none, allows nothing.
	Capabilities *capability.Set `json:"capabilities,omitempty"`
	// MaxMemoryMB is in MiB, MaxExecutionSeconds of wall time, MaxFuel in units of
	// fuel; each bounds one call.
	MaxMemoryMB         int     `json:"max_memory_mb,omitempty"`
	MaxExecutionSeconds float64 `json:"max_execution_seconds,omitempty"`
	MaxFuel             uint64  `json:"max_fuel,omitempty"`
	// Reason is shown with every refusal.
	Reason string `json:"reason,omitempty"`
}

// LoadMaximum reads [MaximumFile] in a directory; without one there is no bound.
// Errors are [*LoadError]s: a bound that cannot be read, such as one behind a link
// that leads nowhere, must not be lost.
func LoadMaximum(dir string) (*Maximum, error) {
	if dir == "" {
		return nil, nil
	}
	file := filepath.ToSlash(filepath.Join(dir, MaximumFile))
	text, err := readFile(os.DirFS(dir), MaximumFile)
	if absent.Is(err, filepath.Join(dir, MaximumFile)) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(file, err)
	}
	m, err := parseMaximum(text)
	if err != nil {
		return nil, &LoadError{File: file, Message: err.Error(), Err: err}
	}
	return m, nil
}

func parseMaximum(text []byte) (*Maximum, error) {
	m := new(Maximum)
	if err := strictjson.Unmarshal(text, m); err != nil {
		return nil, err
	}
	if m.MaxMemoryMB < 0 || m.MaxExecutionSeconds < 0 {
		return nil, errors.New("a maximum is below zero")
	}
	return m, nil
}

// Within returns a set that decides as s does, and refuses what m does not
// allow. m may be nil, which bounds nothing.
func (s *Set) Within(m *Maximum) *Set {
	bounded := *s
	bounded.maximum = m
	return &bounded
}

// refuses says what stands against a query, if anything does. A nil Maximum
// refuses nothing.
func (m *Maximum) refuses(q Query) (Decision, bool) {
	if m == nil || m.Capabilities == nil || m.admits(q) {
		return Decision{}, false
	}
	reason := fmt.Sprintf("the administrator of this machine allows at most: %s", m.Capabilities)
	if m.Capabilities.IsEmpty() {
		reason = "the administrator of this machine allows nothing that has to be granted"
	}
	if m.Reason != "" {
		reason += "; " + m.Reason
	}
	return Decision{Policies: []string{maximumID}, Reason: reason}, true
}

func (m *Maximum) admits(q Query) bool {
	if q.Phase == PhaseInstall {
		return m.Capabilities.Covers(q.Capability)
	}
	_, ok := m.Capabilities.Allows(q.Request)
	return ok
}
