package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
)

var blobTests = []test{
	{"Blobs/put and get", blobs},
	{"Blobs/content must match", blobContent},
	{"Blobs/digests", blobDigests},
	{"Blobs/content is a copy", blobCopies},
}

func digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func blobs(t *testing.T, s store.Store) {
	b := s.Blobs()
	var want []string
	for _, content := range [][]byte{nil, []byte("one"), bytes.Repeat([]byte("wasm"), 1<<18)} {
		d := digest(content)
		want = append(want, d)
		if has := must(b.Has(t.Context(), d))(t); has {
			t.Errorf("has %s before", d)
		}
		for range 2 {
			ok(t, b.Put(t.Context(), d, content))
		}
		got := must(b.Get(t.Context(), d))(t)
		if has := must(b.Has(t.Context(), d))(t); !has || !bytes.Equal(got, content) {
			t.Errorf("has %v, %d bytes, want %d", has, len(got), len(content))
		}
	}
	slices.Sort(want)
	if got := must(b.List(t.Context()))(t); !slices.Equal(got, want) {
		t.Errorf("List = %v, want %v", got, want)
	}
	ok(t, b.Delete(t.Context(), want[0]))
	if _, err := b.Get(t.Context(), want[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
	if err := b.Delete(t.Context(), want[0]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Delete = %v, want ErrNotFound", err)
	}
	if got := must(b.List(t.Context()))(t); !slices.Equal(got, want[1:]) {
		t.Errorf("List = %v, want %v", got, want[1:])
	}
}

func blobContent(t *testing.T, s store.Store) {
	d := digest([]byte("one"))
	if err := s.Blobs().Put(t.Context(), d, []byte("two")); !errors.Is(err, store.ErrDigest) {
		t.Errorf("Put of other content = %v, want ErrDigest", err)
	}
	if has := must(s.Blobs().Has(t.Context(), d))(t); has {
		t.Error("the refused content is there")
	}
}

func blobDigests(t *testing.T, s store.Store) {
	good := digest([]byte("one"))
	for _, d := range []string{"", "sha256:", strings.ToUpper(good), good[:70], good + "0", "sha512:" + good[7:], "sha256:../../../../etc/passwd", strings.Replace(good, ":", "/", 1)} {
		_, getErr := s.Blobs().Get(t.Context(), d)
		_, hasErr := s.Blobs().Has(t.Context(), d)
		for _, err := range []error{s.Blobs().Put(t.Context(), d, []byte("one")), getErr, hasErr, s.Blobs().Delete(t.Context(), d)} {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("digest %q: %v, want ErrInvalid", d, err)
			}
		}
	}
}

func blobCopies(t *testing.T, s store.Store) {
	content := []byte("one")
	d := digest(content)
	ok(t, s.Blobs().Put(t.Context(), d, content))
	content[0] = 'X'
	must(s.Blobs().Get(t.Context(), d))(t)[1] = 'X'
	if got := must(s.Blobs().Get(t.Context(), d))(t); string(got) != "one" {
		t.Errorf("the content became %q", got)
	}
}
