package mcp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/repeat"
)

// What a client may say beside a call: a key that names it, with which it may be made again
// and is not carried out again. Over HTTP the header is the same.
const (
	metaKey   = "run.skillet/idempotency-key"
	headerKey = "Idempotency-Key"
)

// once carries out a call, or answers it as the first time when it has the key of one that was
// made before. A call with a key goes on when its client has gone, since that will ask again.
func (s *tokenServer) once(ctx context.Context, t tool, r *sdk.CallToolRequest) (res *sdk.CallToolResult, err error) {
	key := keyOf(r)
	if key == "" {
		return s.asked(ctx, t, r)
	}
	if !repeat.KeyForm().MatchString(key) {
		return nil, invalid("%s is not 1 to 200 characters of ASCII without spaces", metaKey)
	}
	kept, first := s.answers.Begin(repeat.Key{Key: key}, sumOf(r.Params))
	if !first {
		return s.again(ctx, kept, r)
	}
	defer func() { s.answers.End(kept, copied(res), sizeOf(res), res != nil && !waits(res)) }()
	if !isUnderway(ctx) { // which ends when its task is cancelled
		ctx = context.WithoutCancel(ctx)
	}
	return s.asked(ctx, t, r)
}

// keyOf is the key of a call; empty for none.
func keyOf(r *sdk.CallToolRequest) string {
	key := textOf(r.Params.Meta, metaKey)
	if key == "" && r.Extra != nil {
		key = r.Extra.Header.Get(headerKey)
	}
	return key
}

// again answers a call that was made before, and waits for it while it runs.
func (s *tokenServer) again(ctx context.Context, kept *repeat.Kept[*sdk.CallToolResult], r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if kept.Request != sumOf(r.Params) {
		return nil, invalid("%s was that of another call", metaKey)
	}
	select {
	case <-kept.Done():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if kept.Value() == nil {
		return s.failed(fault.Errorf(fault.KindConflict, "the same call was not carried out; make it again"), ""), nil
	}
	return copied(kept.Value()), nil
}

// waits reports whether a call was not carried out, because a person has to decide first.
func waits(res *sdk.CallToolResult) bool {
	_, paused := res.StructuredContent.(pause)
	return paused || res.InputRequests != nil
}

// copied is an answer that can be changed.
func copied(res *sdk.CallToolResult) *sdk.CallToolResult {
	if res == nil {
		return nil
	}
	c := *res
	c.Meta = maps.Clone(res.Meta)
	return &c
}

func sizeOf(res *sdk.CallToolResult) int {
	b, err := json.Marshal(res)
	if err != nil {
		return repeat.MaxAnswer
	}
	return len(b)
}

// sumOf is the hash of what is called: the tool and the arguments, however they are written.
func sumOf(p *sdk.CallToolParamsRaw) [32]byte {
	arguments := []byte(p.Arguments)
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil {
			arguments = b
		}
	}
	return sha256.Sum256(append([]byte(p.Name+"\n"), arguments...))
}

// ask asks a client for the decision of a person, who alone has it: what the client answers is
// not read. The state that it sends back with the same call says that it was asked.
func (e *Edge) ask(owner string, p *sdk.CallToolParamsRaw, w pause) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{"decision": form(w.question("Go on when it is decided."))},
		RequestState:  e.state(owner, p, w.Proposal),
	}
}

// state is what a client sends back: the proposal, signed for the token and the call.
func (e *Edge) state(owner string, p *sdk.CallToolParamsRaw, proposal string) string {
	sum := sumOf(p)
	mac := hmac.New(sha256.New, e.key[:])
	fmt.Fprintf(mac, "%q %x %q", owner, sum, proposal)
	return proposal + "." + hex.EncodeToString(mac.Sum(nil))
}

// signed reports whether a state is that of the same call of the same token.
func (e *Edge) signed(owner string, p *sdk.CallToolParamsRaw) bool {
	proposal, _, _ := strings.Cut(p.RequestState, ".")
	return hmac.Equal([]byte(p.RequestState), []byte(e.state(owner, p, proposal)))
}

// canBeAsked reports whether a client takes questions in the place of an answer.
// One that takes tasks gets a task, which says it.
func canBeAsked(r *sdk.CallToolRequest) bool { return answersForms(r) && !takesTasks(r) }
