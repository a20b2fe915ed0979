package work

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// A RecordedCall is what the guest of a call was given, saw and did.
type RecordedCall struct {
	// Input and Output are what it was given and what it answered.
	Input     string          `json:"input"`
	Output    string          `json:"output"`
	HostCalls []HostCall      `json:"host_calls" nullable:"false"`
	Files     []FileOperation `json:"files" nullable:"false"`
	Logs      []task.LogLine  `json:"logs" nullable:"false"`
}

// A HostCall is something that a guest asked the host for, and what it was told.
type HostCall struct {
	Name    string `json:"name"`
	Request string `json:"request"`
	Answer  string `json:"answer"`
}

// A FileOperation is what a guest did to a file.
type FileOperation struct {
	// What says it in words: "write to /data/a.txt".
	What string `json:"what"`
	// Written is what it wrote, and Before what it had read of the file until then.
	Before  string `json:"before,omitempty"`
	Written string `json:"written,omitempty"`
}

// maxTold is how many bytes of one text of a recording are told.
const maxTold = 64 << 10

// told is the beginning of a text.
func told(b []byte) string {
	head := text.Head(strings.ToValidUTF8(string(b[:min(len(b), maxTold)]), "\uFFFD"), maxTold)
	if len(b) > maxTold {
		head += "…"
	}
	return head
}

// kept is what the recording of a call has; nil if there is none. Which recording that is,
// the digests of what it was given and answered tell: one of which a secret was taken out has
// others, and is not shown.
func (s *Calls) kept(ctx context.Context, c Call) (*RecordedCall, error) {
	skill, _, _ := strings.Cut(c.Skill, "@")
	all, err := s.s.parts.Recordings.List(skill)
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Backward(all) { // the oldest first: it was kept soon after the call ended
		if k.At.Before(c.Time) {
			continue
		}
		r, err := recording.Read(ctx, k.Path)
		if ctx.Err() != nil {
			return nil, err
		}
		if err == nil && isOf(r, c) { // one that cannot be read is evicted by now, or is none
			return recordedCall(r), nil
		}
	}
	return nil, nil
}

func isOf(r *recording.Recording, c Call) bool {
	return string(r.Digest) == c.Digest && r.Tool == c.Tool && string(manifests.DigestOf(r.Input)) == c.InputDigest &&
		r.Outcome.OK == c.OK && r.Outcome.Fuel == c.Fuel && (!c.OK || string(manifests.DigestOf(r.Outcome.Output)) == c.OutputDigest)
}

func recordedCall(r *recording.Recording) *RecordedCall {
	k := &RecordedCall{Input: told(r.Input), Output: told(r.Outcome.Output), HostCalls: []HostCall{}, Files: []FileOperation{}, Logs: r.Outcome.Logs}
	for _, e := range r.Events {
		if c := e.Call; c != nil {
			k.HostCalls = append(k.HostCalls, HostCall{c.Name, told(append(bytes.Clone(c.Request), c.Body...)), told(append(bytes.Clone(c.Answer), c.AnswerBody...))})
		}
	}
	for _, d := range r.Deeds() {
		k.Files = append(k.Files, FileOperation{d.What, told(d.Before), told(d.Written)})
	}
	return k
}
