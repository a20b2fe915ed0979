package code

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// maxTold is how much is shown of the answer to a call, and of the data of a script, in bytes.
const maxTold = 4 << 10

// Show is a run that has not ended, for whoever decides about its call. Those of others are for
// people, and for programs that see what others asked for. It fails with a [fault.KindNotFound]
// error for a run that has ended, or is not kept any more.
func (s *Service) Show(ctx context.Context, by approval.Principal, id string) (approval.ScriptView, error) {
	var v approval.ScriptView
	if err := approval.CheckPrincipal(by); err != nil {
		return v, err
	}
	r, err := s.load(ctx, id)
	if err == nil && r.head.State != Paused && r.head.State != Uncertain && r.head.State != running || errors.Is(err, store.ErrNotFound) {
		err = missing(id)
	}
	if err == nil && !sees(by, r.head.Owner) {
		err = missing(id)
	}
	if err == nil {
		err = r.read(ctx)
	}
	if err != nil {
		return v, err
	}
	v.Script = approval.Script{Run: id, Language: r.head.Language, Digest: manifests.DigestOf([]byte(r.code)), Actor: r.head.Owner}
	v.Code, v.Calls = r.code, []approval.ScriptCall{}
	if v.Data = r.data; len(v.Data) > maxTold {
		v.Data = json.RawMessage(`"…"`)
	}
	for _, st := range r.steps {
		if !st.Done {
			v.Number = st.Number
			break
		}
		v.Calls = append(v.Calls, told(st))
	}
	return v, nil
}

func sees(by approval.Principal, owner string) bool {
	switch p := by.(type) {
	case approval.Human:
		return true
	case approval.Program:
		return p.SeesAll() || p.Actor() == owner
	}
	return by.Actor() == owner
}

// told is a call that a script has made.
func told(st *step) approval.ScriptCall {
	c := approval.ScriptCall{Skill: st.Skill, Tool: st.Tool, Input: st.Shown, Answer: clip(string(st.Answer), maxTold)}
	if st.Error != nil {
		c.Error = st.Error.Message
	} else if st.Kind != "" {
		c.Error = st.Told
	}
	return c
}
