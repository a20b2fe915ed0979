// Package approvaltest grants things to packages in tests, without a home.
package approvaltest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// Granted is what a package may do after h granted it all of set. It panics when
// h is the zero value.
func Granted(h approval.Human, d manifests.Digest, set capability.Set) approval.Granted {
	ctx, kv := context.Background(), &entries{}
	for _, c := range set.All() {
		change, err := h.Grant("test", d, c, approval.Terms{})
		must(err)
		must(approval.Projection().Apply(ctx, kv, ledger.Stamp{Actor: h.Actor(), Time: time.Now()}, change))
	}
	granted, err := approval.NewStore(nil, kv, nil, approval.Settings{}).ConsumeGrants(ctx, registry.Skill{Digest: d}, approval.Use{})
	must(err)
	return granted
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// entries is as much of a store as grants need.
type entries struct {
	store.KV
	all []store.Entry
}

func (e *entries) Get(_ context.Context, key string) (store.Entry, error) {
	i := slices.IndexFunc(e.all, func(x store.Entry) bool { return x.Key == key })
	if i < 0 {
		return store.Entry{}, store.ErrNotFound
	}
	return e.all[i], nil
}

func (e *entries) Put(_ context.Context, key string, value []byte, _ uint64) (uint64, error) {
	e.all = append(slices.DeleteFunc(e.all, func(x store.Entry) bool { return x.Key == key }), store.Entry{Key: key, Value: value})
	return uint64(len(e.all)), nil
}

func (e *entries) List(_ context.Context, prefix string) ([]store.Entry, error) {
	return slices.DeleteFunc(slices.Clone(e.all), func(x store.Entry) bool { return !strings.HasPrefix(x.Key, prefix) }), nil
}
