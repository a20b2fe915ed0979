package signature

import (
	"encoding/json"
	"fmt"

	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skillet-run/skillet/manifests"
)

// statementJSON is an in-toto statement as Sign writes it.
type statementJSON struct {
	Type          string        `json:"_type"`
	Subject       []subjectJSON `json:"subject"`
	PredicateType string        `json:"predicateType"`
	Predicate     predicateJSON `json:"predicate"`
}

type subjectJSON struct {
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest"`
}

// predicateJSON brings the public key, in PEM, so that who sees the signer for
// the first time can verify the signature and remember the key.
type predicateJSON struct {
	PublicKey string `json:"publicKey"`
}

// publicKeyMember is the name of the key in the predicate.
const publicKeyMember = "publicKey"

func newStatement(key Key, subjects []Subject) ([]byte, error) {
	if n := len(subjects); n == 0 || n > MaxSubjects {
		return nil, fmt.Errorf("%d subjects: want 1 to %d", n, MaxSubjects)
	}
	st := statementJSON{Type: StatementType, PredicateType: PredicateType, Predicate: predicateJSON{string(key.PEM())}}
	for _, s := range subjects {
		if _, err := manifests.ParseDigest(string(s.Digest)); err != nil {
			return nil, fmt.Errorf("subject %q: %w", s.Name, err)
		}
		st.Subject = append(st.Subject, subjectJSON{s.Name, map[string]string{"sha256": s.Digest.Hex()}})
	}
	return json.Marshal(st)
}

// parseStatement reads a statement that is a signature.
func parseStatement(payload []byte) (*intoto.Statement, error) {
	var st intoto.Statement
	if err := protojson.Unmarshal(payload, &st); err != nil {
		return nil, fmt.Errorf("%w: its statement: %s", ErrMalformed, Reason(err))
	}
	switch {
	case st.GetType() != StatementType:
		return nil, fmt.Errorf("%w: its statement is a %q", ErrUnsupported, st.GetType())
	case st.GetPredicateType() != PredicateType:
		return nil, fmt.Errorf("%w: it is an attestation of type %q", ErrUnsupported, st.GetPredicateType())
	case len(st.GetSubject()) == 0 || len(st.GetSubject()) > MaxSubjects:
		return nil, fmt.Errorf("%w: its statement has %d subjects, want 1 to %d", ErrMalformed, len(st.GetSubject()), MaxSubjects)
	}
	return &st, nil
}

// statementSubjects are the subjects of a statement that have a SHA-256.
func statementSubjects(payload []byte) ([]Subject, error) {
	st, err := parseStatement(payload)
	if err != nil {
		return nil, err
	}
	var subjects []Subject
	for _, s := range st.GetSubject() {
		hex, ok := s.GetDigest()["sha256"]
		if !ok {
			continue
		}
		d, err := manifests.ParseDigest("sha256:" + hex)
		if err != nil {
			return nil, fmt.Errorf("%w: its statement: %w", ErrMalformed, err)
		}
		subjects = append(subjects, Subject{s.GetName(), d})
	}
	if len(subjects) == 0 {
		return nil, fmt.Errorf("%w: its statement names no SHA-256", ErrMalformed)
	}
	return subjects, nil
}

// statementKey is the key that a statement brings; false when it brings none
// that can be read.
func statementKey(payload []byte) (Key, bool) {
	st, err := parseStatement(payload)
	if err != nil {
		return Key{}, false
	}
	k, err := ParseKey([]byte(st.GetPredicate().GetFields()[publicKeyMember].GetStringValue()))
	return k, err == nil
}

// CheckStatement demands that an in-toto statement, which must have been
// verified, is a signature of the artifact, and returns its subjects. The error
// wraps [ErrMalformed], [ErrUnsupported] or [ErrMismatch].
func CheckStatement(payload []byte, artifact manifests.Digest) ([]Subject, error) {
	if len(payload) > MaxBytes {
		return nil, fmt.Errorf("%w: its statement has %d bytes", ErrMalformed, len(payload))
	}
	subjects, err := statementSubjects(payload)
	if err != nil {
		return nil, err
	}
	for _, s := range subjects {
		if s.Digest == artifact {
			return subjects, nil
		}
	}
	return nil, fmt.Errorf("%w: it names %s", ErrMismatch, names(subjects))
}
