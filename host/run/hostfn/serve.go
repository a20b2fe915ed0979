package hostfn

import (
	"context"
	"fmt"
)

// Serve answers one call of a function of [Module] as a guest is answered: grants, policies, tape and records are
// the same. It is for guests that run on another engine than package sandbox. An error is one that would end the
// call of the guest, or says that there is no such function.
func (e *Env) Serve(ctx context.Context, name string, meta, body []byte) (Answer, error) {
	if len(meta) > MaxMeta {
		return Refused(KindLimit, fmt.Sprintf("request data of %d bytes; at most %d", len(meta), MaxMeta)), nil
	}
	for _, f := range functions() {
		if f.name == name {
			return f.answer(ctx, e, HostCall{Meta: meta, Body: body})
		}
	}
	return Answer{}, fmt.Errorf("serve %s: no host function has this name", name)
}
