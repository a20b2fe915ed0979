package source_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// letters are the documents of these tests.
func letters() source.DocumentType {
	return source.DocumentType{MediaType: "application/vnd.example.letter.v1+json", MaxBytes: 1000}
}

// letter is a document that the lab's key signed.
func (l *lab) letter(text string) source.Document {
	l.t.Helper()
	b, err := signature.Sign(l.key, signature.Subject{Name: "letter.json", Digest: manifests.DigestOf([]byte(text))})
	if err != nil {
		l.t.Fatal(err)
	}
	return source.Document{Content: []byte(text), Signatures: [][]byte{b}}
}

func (l *lab) post(d source.Document, to, tag string) source.Pushed {
	l.t.Helper()
	pushed, err := l.fetch.PushDocument(l.t.Context(), l.ref(to), letters(), "letter.json", tag, d, source.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	return pushed
}

func (l *lab) read(ref string) (source.Document, error) {
	l.t.Helper()
	return l.fetch.Document(l.t.Context(), l.ref(ref), letters(), source.Options{})
}

// arrives demands that a document comes with its signature.
func (l *lab) arrives(ref string, want source.Document) source.Document {
	l.t.Helper()
	got, err := l.read(ref)
	if err != nil || !bytes.Equal(got.Content, want.Content) || len(got.Signatures) != 1 || !bytes.Equal(got.Signatures[0], want.Signatures[0]) {
		l.t.Fatalf("%s: %+v, %v", ref, got, err)
	}
	return got
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(t *testing.T) (*lab, string){
		"with the referrers API": func(t *testing.T) (*lab, string) { return newLab(t, true, nil), "oci://HOST/letters" },
		"with the tag fallback":  func(t *testing.T) (*lab, string) { return newLab(t, false, nil), "oci://HOST/letters" },
		"distribution":           func(t *testing.T) (*lab, string) { return labAt(t, distribution(t)), "oci://HOST/letters" },
		"a folder": func(t *testing.T) (*lab, string) {
			return newLab(t, true, nil), "oci-layout:" + filepath.Join(t.TempDir(), "letters")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, at := place(t)
			one, two := l.letter("one"), l.letter("two")
			first := l.post(one, at, "1")
			if got := l.arrives(at, one); got.Source != first.Source || got.From != "" || !first.Signed || !slices.Equal(first.Tags, []string{"1", "latest"}) {
				t.Errorf("%+v\n%+v", got, first)
			}
			l.post(two, at, "2")
			l.post(two, at, "2") // again
			l.arrives(at, two)
			l.arrives(at+":1", one)
			l.arrives(first.Source, one)
			_, err := l.fetch.PushDocument(t.Context(), l.ref(at), letters(), "letter.json", "2", one, source.Options{})
			refused(t, err, fault.KindConflict, oci.ErrExists, "2")
			l.arrives(at, two)
			_, err = l.read(at + ":3")
			refused(t, err, fault.KindNotFound, transfer.ErrNotFound)
			for _, to := range []string{at + ":3", "https://x.example.com/letters", "letters"} {
				_, err = l.fetch.PushDocument(t.Context(), l.ref(to), letters(), "letter.json", "3", one, source.Options{})
				refused(t, err, fault.KindUsage, source.ErrRef)
			}
		})
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	l.push(pack(t, "csv", "1.0.0", nil), "oci://HOST/csv")
	_, err := l.read("oci://HOST/csv:1.0.0")
	refused(t, err, fault.KindUsage, oci.ErrOtherType, oci.ConfigType, letters().MediaType)
	l.post(l.letter("one"), "oci://HOST/letters", "1")
	_, err = l.fetch.Fetch(t.Context(), l.ref("oci://HOST/letters:latest"), source.Options{})
	refused(t, err, fault.KindUsage, oci.ErrNotSkill)
	small := letters()
	small.MaxBytes = 2
	_, err = l.fetch.Document(t.Context(), l.ref("oci://HOST/letters"), small, source.Options{})
	refused(t, err, fault.KindVerification, transfer.ErrTooLarge, "at most 2")
	_, err = l.read("oci://" + closedPort(t) + "/letters")
	refused(t, err, fault.KindUnreachable, transfer.ErrUnreachable)
	_, err = l.read("git+https://x.example.com/letters")
	refused(t, err, fault.KindUsage, source.ErrRef)
}

// Whatever byte of an answer is changed, the same document comes or none; behind
// a tag, which names no bytes, the signature is what says so.
func TestFlippedDocuments(t *testing.T) {
	t.Parallel()
	m := &tamperer{}
	l := newLab(t, true, m.between)
	d := l.letter(`{"dear":"ada"}`)
	at := l.post(d, "oci://HOST/letters", "1")
	var mu sync.Mutex
	sizes := map[string]int{}
	m.arm(func(_ http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet && real.Code == http.StatusOK && strings.Contains(r.URL.Path, "/letters/") {
			sizes[r.URL.Path] = real.Body.Len()
		}
		return false
	})
	l.arrives(at.Source, d)
	n := 0
	for path, size := range sizes {
		for i := 0; i < size; i += step(size) {
			m.arm(func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
				if r.URL.Path != path || r.Method != http.MethodGet || i >= real.Body.Len() {
					return false
				}
				answer(w, real, flipped(real.Body.Bytes(), i))
				return true
			})
			n++
			got, err := l.read(at.Source)
			if err == nil && (!bytes.Equal(got.Content, d.Content) || len(got.Signatures) > 0 && !bytes.Equal(got.Signatures[0], d.Signatures[0])) {
				t.Errorf("byte %d of %s: %+v", i, path, got)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d bytes were changed", n)
	}
}

func TestDocumentsOfAddresses(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	d := l.letter("one")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/letter.json", "/bare.json":
			_, _ = w.Write(d.Content)
		case "/letter.json" + signature.Extension:
			_, _ = w.Write(d.Signatures[0])
		case "/large.json":
			_, _ = w.Write(make([]byte, letters().MaxBytes+1))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	got := l.arrives(s.URL+"/letter.json", d)
	if got.Source != s.URL+"/letter.json#"+digestOf(d.Content) {
		t.Error(got.Source)
	}
	l.arrives(got.Source, d)
	if got, err := l.read(s.URL + "/bare.json"); err != nil || len(got.Signatures) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := l.read(s.URL + "/letter.json#" + digestOf(nil))
	refused(t, err, fault.KindVerification, transfer.ErrTampered)
	_, err = l.read(s.URL + "/large.json")
	refused(t, err, fault.KindVerification, transfer.ErrTooLarge)
	_, err = l.read(s.URL + "/none.json")
	refused(t, err, fault.KindNotFound, transfer.ErrNotFound)
	_, err = l.read("http://x.example.com/letter.json")
	refused(t, err, fault.KindVerification, transfer.ErrTransport)
}

// A mirror that has a document is asked first; where it has no signature, that
// comes from the registry.
func TestDocumentsOfMirrors(t *testing.T) {
	t.Parallel()
	l, mirror := newLab(t, true, nil), newLab(t, false, nil)
	d := l.letter("one")
	l.post(d, "oci://HOST/all/letters", "1")
	mirror.post(source.Document{Content: d.Content}, "oci://HOST/copy/letters", "1")
	set := l.set
	set.Registries = []source.Registry{{Name: "r", URL: "oci://" + l.host + "/all", Mirrors: []string{"oci://" + closedPort(t) + "/x", "oci://" + mirror.host + "/copy"}}}
	l.with(set)
	if got := l.arrives("oci://HOST/all/letters", d); got.From != "oci://"+mirror.host+"/copy/letters" || !strings.HasPrefix(got.Source, "oci://"+l.host+"/all/letters@") {
		t.Errorf("%+v", got)
	}
}
