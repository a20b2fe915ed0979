package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/internal/recent"
	"github.com/skillet-run/skillet/internal/strictjson"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"
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
	// Ceilings bound each call.
	limit.Ceilings
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
		return nil, misnamedMaximum(dir)
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

// misnamedMaximum is an error for a file that was meant to be the maximum, and has
// another name: it would bound nothing, without a word.
func misnamedMaximum(dir string) error {
	entries, _ := os.ReadDir(dir) // where there is no directory, or none that can be listed, there is no such file
	for _, entry := range entries {
		name := entry.Name()
		ext := filepath.Ext(name)
		meant := slices.Contains([]string{".json", ".jsonc", ".yaml", ".yml", ".toml"}, strings.ToLower(ext))
		if meant && strings.EqualFold(strings.TrimSuffix(name, ext), strings.TrimSuffix(MaximumFile, ".json")) {
			return &LoadError{File: filepath.ToSlash(filepath.Join(dir, name)), Message: "it is not read, and bounds nothing: the file is " + MaximumFile + ", in JSON; rename it"}
		}
	}
	return nil
}

func parseMaximum(text []byte) (*Maximum, error) {
	m := new(Maximum)
	if err := strictjson.Unmarshal(text, m); err != nil {
		return nil, err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, err
	}
	for _, l := range limit.All() {
		if _, ok := given[l.Setting()]; ok && m.Of(l) <= 0 {
			return nil, errors.New("a maximum is not above zero; leave it out where there is to be no bound")
		}
	}
	return m, nil
}

// Within returns a set that decides as s does, and refuses what m does not
// allow. m may be nil, which bounds nothing.
func (s *Set) Within(m *Maximum) *Set {
	bounded := *s
	bounded.maximum, bounded.answers = m, new(recent.Cache[Query, Decision])
	return &bounded
}

// refuses says what stands against a query, if anything does. A nil Maximum
// refuses nothing.
func (m *Maximum) refuses(q Query) (Decision, bool) {
	if m == nil || m.Capabilities == nil || q.Phase == PhaseProcess || q.Phase == PhaseTool || m.admits(q) {
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
