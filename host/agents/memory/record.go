package memory

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a record. What is remembered comes from skills and models.
const (
	MaxText     = 32 << 10 // bytes of a text
	MaxTags     = 32
	MaxTag      = 64 // bytes of a tag, of a key of the metadata, and of the ID of a task
	MaxMetadata = 32 // entries
	MaxValue    = 1 << 10
)

// maxSources is how many records are merged into one at most.
const maxSources = 16

// An Area is where a record belongs.
type Area string

// The areas.
const (
	Main        Area = "main"        // facts and preferences, short and lasting
	Fragments   Area = "fragments"   // notes and snippets, until they are merged
	Solutions   Area = "solutions"   // plans, decisions and summaries
	Instruments Area = "instruments" // what tools did, and how well
)

// Areas returns all areas.
func Areas() []Area { return []Area{Main, Fragments, Solutions, Instruments} }

// A Type is what a record tells about.
type Type string

// The types.
const (
	TaskExecution   Type = "task_execution"   // a task that was run, and how it went
	FailurePattern  Type = "failure_pattern"  // what went wrong, and why
	SuccessStrategy Type = "success_strategy" // what worked
	SystemState     Type = "system_state"     // how things were at a time
	UserPreference  Type = "user_preference"  // what a person wants
	Knowledge       Type = "knowledge"        // a fact
	ToolRun         Type = "tool_run"         // what a tool did
)

// Types returns all types.
func Types() []Type {
	return []Type{TaskExecution, FailurePattern, SuccessStrategy, SystemState, UserPreference, Knowledge, ToolRun}
}

// area is where records of a type belong when nobody says.
func (t Type) area() Area {
	switch t {
	case UserPreference, SystemState:
		return Main
	case SuccessStrategy, FailurePattern:
		return Solutions
	case ToolRun:
		return Instruments
	}
	return Fragments
}

// A Draft is what somebody wants to be remembered.
type Draft struct {
	// Text is what is remembered: UTF-8 with a letter in it, at most MaxText bytes.
	Text string `json:"text"`
	// Area is empty for the one that suits the type.
	Area Area `json:"area,omitempty"`
	// Type is empty for knowledge.
	Type Type `json:"type,omitempty"`
	// Tags are sorted, and each is there once.
	Tags []string `json:"tags,omitempty"`
	// Metadata is for whoever wrote the record; of it only [By] is looked at here.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Failed says that the record tells of something that did not succeed.
	Failed bool `json:"failed,omitempty"`
	// Pinned records are never merged or forgotten.
	Pinned bool `json:"pinned,omitempty"`
	// Task is the task it comes from; may be empty.
	Task string `json:"task,omitempty"`
}

// By is the key of the metadata that says who wrote a record: "host", "agent:NAME", or
// nothing for a person.
const By = "by"

const byAgent = "agent:"

// Origin is who wrote it; empty for a person.
func (d *Draft) Origin() string { return d.Metadata[By] }

// SaidByAgent reports whether an agent wrote it, and nobody confirmed it.
func (d *Draft) SaidByAgent() bool { return strings.HasPrefix(d.Origin(), byAgent) }

// A Record is something remembered.
type Record struct {
	ID string `json:"id"`
	Draft
	// Created is when the first of what is in it was written, Updated when the
	// last was.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Sources are the records it was merged from, which are gone.
	Sources []Source `json:"sources,omitempty"`
	// Retrievals is how often it was found, Retrieved when last; zero for never.
	// They are kept apart from the record and up to [Settings].Flush late.
	Retrievals uint64    `json:"retrievals,omitempty"`
	Retrieved  time.Time `json:"retrieved,omitzero"`
}

// A Source is a record that was merged into another.
type Source struct {
	ID string `json:"id"`
	// Revision is that of the record as it was merged; zero when it came from elsewhere.
	Revision uint64 `json:"revision,omitempty"`
}

// check fills in what was left out, and refuses what breaks a rule.
func (d *Draft) check() error {
	if d.Type == "" {
		d.Type = Knowledge
	}
	if d.Area == "" {
		d.Area = d.Type.area()
	}
	d.Tags = slices.Compact(slices.Sorted(slices.Values(d.Tags)))
	for _, rule := range []struct {
		broken bool
		what   string
	}{
		{!slices.Contains(Areas(), d.Area), fmt.Sprintf("unknown area %q; the areas are %v", clip(string(d.Area)), Areas())},
		{!slices.Contains(Types(), d.Type), fmt.Sprintf("unknown type %q; the types are %v", clip(string(d.Type)), Types())},
		{strings.TrimSpace(d.Text) == "", "the text is empty"},
		{len(d.Text) > MaxText, fmt.Sprintf("the text has %d bytes, at most %d are kept", len(d.Text), MaxText)},
		{!utf8.ValidString(d.Text), "the text is not UTF-8"},
		{len(d.Tags) > MaxTags, fmt.Sprintf("%d tags, at most %d are kept", len(d.Tags), MaxTags)},
		{len(d.Metadata) > MaxMetadata, fmt.Sprintf("%d entries of metadata, at most %d are kept", len(d.Metadata), MaxMetadata)},
		{d.Task != "" && !isLabel(d.Task), fmt.Sprintf("the task %q is not an ID", clip(d.Task))},
	} {
		if rule.broken {
			return fmt.Errorf("%w: %s", ErrInvalid, rule.what)
		}
	}
	return d.checkLabels()
}

func (d *Draft) checkLabels() error {
	for _, t := range d.Tags {
		if !isLabel(t) {
			return fmt.Errorf("%w: the tag %q: a tag has 1 to %d bytes and no control characters", ErrInvalid, clip(t), MaxTag)
		}
	}
	for k, v := range d.Metadata {
		if !isLabel(k) || len(v) > MaxValue || !utf8.ValidString(v) {
			return fmt.Errorf("%w: the metadata %q: keys have 1 to %d bytes and no control characters, values at most %d of UTF-8", ErrInvalid, clip(k), MaxTag, MaxValue)
		}
	}
	return nil
}

// isLabel reports whether s is short and can be shown.
func isLabel(s string) bool {
	return s != "" && len(s) <= MaxTag && utf8.ValidString(s) && Shown(s) == s && !strings.ContainsAny(s, "\n\t")
}

// clip shortens what is quoted in an error.
func clip(s string) string { return s[:min(len(s), MaxTag)] }

// Shown returns a text as it may be shown to a person: control characters other than
// line breaks and tabs, characters that turn the direction of writing and others that
// cannot be seen are each replaced by U+FFFD, so that they are noticed.
func Shown(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// makeID returns an ID for a record. IDs are spread evenly.
func makeID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// isID reports whether s can be the ID of a record.
func isID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// digest recognises a text.
type digest [16]byte

func digestOf(text string) digest {
	sum := sha256.Sum256([]byte(text))
	return digest(sum[:16])
}
