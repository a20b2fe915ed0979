package trust

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// A State says how a package stands.
type State string

// The states, from good to bad.
const (
	// Trusted: by the signer that is remembered for the skill, by one that the
	// name is reserved for, or by this home's own key.
	Trusted State = "trusted"
	// FirstSeen: signed, and nobody is remembered for the skill yet.
	FirstSeen State = "first_seen"
	// ChangedSource: from elsewhere than the last time.
	ChangedSource State = "changed_source"
	// Unsigned: without a signature, as all versions before.
	Unsigned State = "unsigned"
	// UnknownKey: what signatures there are cannot be verified here.
	UnknownKey State = "unknown_key"
	// WasSigned: without a signature, and versions before had one.
	WasSigned State = "was_signed_now_unsigned"
	// ChangedSigner: by another signer than the one that is remembered.
	ChangedSigner State = "changed_signer"
	// WrongName: by a signer that is trusted with other names only.
	WrongName State = "wrong_name"
	// Bad: a signature is there and is not one of these bytes.
	Bad State = "bad"
	// Revoked: the package, the artifact or its signer was revoked.
	Revoked State = "revoked"
)

// severity orders states; the worst one names the verdict.
func severity(s State) int {
	return slices.Index([]State{Trusted, FirstSeen, ChangedSource, Unsigned, UnknownKey, WasSigned, ChangedSigner, WrongName, Bad, Revoked}, s)
}

// A Flag is what a person says to accept a finding, as it is written on the
// command line.
type Flag string

// The flags.
const (
	TrustSigner   Flag = "--trust-signer"
	AcceptSource  Flag = "--accept-source"
	AllowUnsigned Flag = "--allow-unsigned"
)

// Of is [TrustSigner] for one signer: its fingerprint in full, with or without what stands before
// the digits, or the identity of a keyless signer.
func (f Flag) Of(signer string) Flag { return f + " " + Flag(signer) }

// parts are a flag and the signer that it names; empty for none, as older decisions have it.
func (f Flag) parts() (flag Flag, signer string) {
	name, signer, _ := strings.Cut(string(f), " ")
	return Flag(name), signer
}

// names reports whether a flag means a signer.
func (f Flag) names(s signature.Signer) bool {
	flag, text := f.parts()
	if flag != TrustSigner {
		return false
	}
	for _, before := range []string{"", "key:", "key:sha256:"} {
		if before+text == string(s) {
			return true
		}
	}
	return f == TrustSigner
}

// field is the field of a request that says it, with its values.
func (f Flag) field() (field fault.Field, values []string) {
	flag, signer := f.parts()
	if signer != "" {
		values = []string{signer}
	}
	return fault.Field(strings.ReplaceAll(strings.TrimPrefix(string(flag), "--"), "-", "_")), values
}

// A Question is a package to judge, with its signatures verified.
type Question struct {
	Evidence
	// Signatures are those that are good, whoever made them; Failures say why
	// the others are not.
	Signatures []signature.Signature
	Failures   []error
}

// A Finding is one thing to say about a package.
type Finding struct {
	State State `json:"state"`
	// Words say it to a person.
	Words string `json:"words"`
	// Flag accepts it; empty when nothing has to be accepted, or nothing can.
	Flag Flag `json:"flag,omitempty"`
	// Refused is whether it stands in the way: without a Flag, for good.
	Refused bool `json:"refused,omitempty"`
	// Hint is the way out where there is no flag; see [fault.Error].
	Hint string `json:"hint,omitempty"`
	// Remedies are what Hint speaks of.
	Remedies []fault.Remedy `json:"remedies,omitempty"`
	// Signers are who signed it and who did before, where that is another; empty otherwise.
	Signers []Standing `json:"signers,omitempty"`
}

// A Standing is what is known of a signer of a skill.
type Standing struct {
	Signer signature.Signer `json:"signer"`
	// Title is what a person calls it, and Since when it became known here; zero for one that is not.
	Title string    `json:"title"`
	Since time.Time `json:"since,omitzero"`
	// Before is true for who signed the versions before.
	Before bool `json:"before,omitempty"`
	// Skills are those that it signs here, by name.
	Skills []string `json:"skills" nullable:"false"`
}

// words are a standing in one line.
func (s Standing) words() string {
	all := []string{string(s.Signer), "not known here until now"}
	if !s.Since.IsZero() {
		all[1] = "known since " + s.Since.Local().Format(time.DateOnly)
	}
	signs := "signs no skill here"
	if n := len(s.Skills); n > maxSigned {
		signs = fmt.Sprintf("signs %s and %d more", strings.Join(s.Skills[:maxSigned], ", "), n-maxSigned)
	} else if n > 0 {
		signs = "signs " + strings.Join(s.Skills, ", ")
	}
	return strings.Join(append(all, signs), ", ")
}

// maxSigned is how many skills of a signer are named in words.
const maxSigned = 5

// compare says of a package that another signer signed than before what is known of both.
func (v *Verdict) compare(skills []Skill) {
	for i, f := range v.Findings {
		if f.State != ChangedSigner || f.Flag == "" {
			continue
		}
		for _, who := range []signature.Signer{v.Signer, v.known.Skill.Signer} {
			s := v.known.signer(who)
			st := Standing{Signer: who, Title: s.Title(), Since: s.At, Before: who == v.known.Skill.Signer, Skills: []string{}}
			for _, o := range skills {
				if o.Signer == who {
					st.Skills = append(st.Skills, o.Name)
				}
			}
			v.Findings[i].Signers = append(v.Findings[i].Signers, st)
		}
		now, before := v.Findings[i].Signers[0], v.Findings[i].Signers[1]
		v.Findings[i].Words = fmt.Sprintf("%s (now: %s; before: %s)", f.Words, now.words(), before.words())
	}
}

func (f *Finding) hinted(h fault.Hint) { f.Hint, f.Remedies = h.Text, h.Remedies }

// A Verdict is how a package stands, and why. It comes from [Assess]; the zero
// value accepts nothing.
type Verdict struct {
	State   State  `json:"state"`
	Skill   string `json:"skill"`
	Version string `json:"version"`
	Source  string `json:"source"`
	// Signer is who signed it, and will be remembered; empty for nobody.
	Signer   signature.Signer `json:"signer,omitempty"`
	Findings []Finding        `json:"findings"`

	question Question
	known    Known
}

// Assess judges a package by what is known. It decides nothing: see
// [Verdict.Refusal] and [Verdict.Changes].
func Assess(q Question, k Known) Verdict {
	v := Verdict{State: Trusted, Skill: q.Skill, Version: q.Version, Source: q.Source, question: q, known: k}
	v.add(v.judge())
	if f, ok := v.judgeSource(); ok {
		v.add(f)
	}
	return v
}

func (v *Verdict) add(f Finding) {
	v.Findings = append(v.Findings, f)
	if severity(f.State) > severity(v.State) {
		v.State = f.State
	}
}

// judge says how the signatures stand, and sets Signer.
func (v *Verdict) judge() Finding {
	q, k := v.question, v.known
	if r, ok := revocationOf(k.Revocations, Target{q.Content, q.Artifact, signers(q.Signatures), k.Skill.Signer}); ok {
		return Finding{State: Revoked, Refused: true, Words: r.words(k), Hint: "use another version, or one of another signer"}
	}
	var best Finding
	for _, s := range q.Signatures {
		if _, revoked := revocationOf(k.Revocations, Target{Signers: []signature.Signer{s.Signer}}); revoked {
			continue
		}
		if f := v.judgeSigner(s.Signer); best.State == "" || severity(f.State) < severity(best.State) {
			best, v.Signer = f, s.Signer
		}
	}
	if best.State != "" {
		return best
	}
	return v.judgeNone()
}

// judgeSigner says how the package stands as one of the signer's.
func (v *Verdict) judgeSigner(who signature.Signer) Finding {
	s, before, reserved := v.known.signer(who), v.known.Skill.Signer, v.known.reserved(v.Skill)
	change := Finding{State: ChangedSigner, Refused: true}
	switch {
	case s.signs(v.Skill):
		return Finding{State: Trusted, Words: fmt.Sprintf("signed by %s, for whom %s is reserved", s.Title(), v.Skill)}
	case len(s.Names) > 0:
		f := Finding{State: WrongName, Refused: true, Words: fmt.Sprintf("signed by %s, and %s", s.Title(), s.forNames())}
		f.hinted(fault.Hintf("%s adds the name", fault.Trust(string(s.Signer)).With(fault.FieldFor, v.Skill)))
		return f
	case len(reserved) > 0:
		change.Words = fmt.Sprintf("signed by %s, and %s is reserved for %s", s.Title(), v.Skill, titles(reserved))
		change.hinted(fault.Hintf("%s lets this signer have the name, too", fault.Trust(string(s.Signer)).With(fault.FieldFor, v.Skill)))
		return change
	case before == who:
		return Finding{State: Trusted, Words: "signed by " + s.Title() + ", as before"}
	case s.Own && (before == "" || v.known.signer(before).Own):
		return Finding{State: Trusted, Words: "signed by " + s.Title()}
	case before == "":
		return Finding{State: FirstSeen, Words: fmt.Sprintf("signed by %s, who is remembered for %s from now on", s.Title(), v.Skill)}
	}
	change.Words = fmt.Sprintf("signed by %s, and before by %s", s.Title(), v.known.signer(before).Title())
	change.Flag = TrustSigner
	change.hinted(fault.Hintf("ask whoever publishes %s whether that key is theirs; if it is not, %s refuses all that it signed", v.Skill, fault.RevokeSigner(string(who))))
	return change
}

// judgeNone says how a package without a good signature stands.
func (v *Verdict) judgeNone() Finding {
	reserved, before := v.known.reserved(v.Skill), v.known.Skill.Signer
	f := Finding{State: Unsigned, Words: "not signed", Refused: true, Flag: AllowUnsigned}
	if bad, unverified := v.failures(); bad != nil {
		return Finding{State: Bad, Refused: true, Words: "not validly signed: " + bad.Error(), Hint: "fetch it again; if that does not help, tell whoever publishes it"}
	} else if unverified != nil {
		f.State, f.Words = UnknownKey, "signed by nobody who can be verified here: "+unverified.Error()
		f.hinted(verifyHint(unverified))
	}
	switch {
	case len(reserved) > 0:
		f.Flag, f.Words = "", fmt.Sprintf("%s, and %s is reserved for %s", f.Words, v.Skill, titles(reserved))
		f.State = WasSigned
		f.hinted(fault.Hintf("install a version that is signed, or take the name back with %s", fault.Distrust()))
	case before != "":
		f.State, f.Words = WasSigned, fmt.Sprintf("%s, and before by %s", f.Words, v.known.signer(before).Title())
	case (v.question.Directory || v.question.Listed) && f.State == Unsigned:
		f.Refused, f.Flag = false, ""
	}
	return f
}

// failures are the first signature that is worth nothing and the first that
// could not be verified; nil for none.
func (v *Verdict) failures() (bad, unverified error) {
	for _, err := range v.question.Failures {
		switch {
		case errors.Is(err, signature.ErrUnknownKey), errors.Is(err, signature.ErrKeyless), errors.Is(err, signature.ErrNeedsBytes), errors.Is(err, errTooMany):
			if unverified == nil {
				unverified = err
			}
		case bad == nil:
			bad = err
		}
	}
	return bad, unverified
}

func verifyHint(err error) fault.Hint {
	if errors.Is(err, signature.ErrKeyless) {
		return fault.Hintf("%s makes keyless signatures verifiable", fault.TrustRoot("trusted_root.json"))
	}
	return fault.Hintf("%s with the public key of whoever signed it", fault.Trust(""))
}

// judgeSource says whether the source changed.
func (v *Verdict) judgeSource() (Finding, bool) {
	before := v.known.Skill.Source
	if v.known.Skill.Name == "" || location(before) == location(v.Source) {
		return Finding{}, false
	}
	return Finding{
		State: ChangedSource, Refused: true, Flag: AcceptSource,
		Words: fmt.Sprintf("from %s, and before from %s", LocationOf(v.Source), LocationOf(before)),
	}, true
}

// location is what two sources are compared by. Directories and files of this
// machine are one place: whoever names one has chosen it.
func location(source string) string {
	if !strings.Contains(source, "://") {
		return "this machine"
	}
	return LocationOf(source)
}

func signers(all []signature.Signature) []signature.Signer {
	var found []signature.Signer
	for _, s := range all {
		found = append(found, s.Signer)
	}
	return found
}

// Refusal is nil when everything that has to be accepted is in accepted, and a
// [fault.KindVerification] error otherwise, whose hint names what is missing.
func (v Verdict) Refusal(accepted ...Flag) error {
	var words []string
	var hint fault.Hint
	var missing []Flag
	forGood := false
	for _, f := range v.Findings {
		if !f.Refused || v.accepts(f.Flag, accepted) {
			continue
		}
		words = append(words, f.Words+v.other(f.Flag, accepted))
		if f.Flag == "" {
			forGood = true
		} else {
			missing = append(missing, v.exactly(f.Flag))
		}
		if hint.IsZero() {
			hint = fault.Hint{Text: f.Hint, Remedies: f.Remedies}
		}
	}
	if v.State == "" {
		words, forGood = append(words, "not judged"), true
	}
	if len(words) == 0 {
		return nil
	}
	err := fault.Errorf(fault.KindVerification, "%s@%s is %s", v.Skill, v.Version, strings.Join(words, "; "))
	if forGood {
		return err.Hinted(hint)
	}
	field, values := missing[0].field()
	accept := fault.SetField(field, values...)
	for _, f := range missing[1:] {
		field, values = f.field()
		accept = accept.With(field, values...)
	}
	return err.Hinted(fault.JoinHints("; or ", hint, fault.Hintf("if that is meant, add %s", accept)))
}

// Missing are the flags that would accept what stands in the way and were not given;
// none for a package that nothing stands in the way of, or that no flag helps.
func (v Verdict) Missing(accepted ...Flag) []Flag {
	if v.Refusal(append(v.needed(), accepted...)...) != nil {
		return nil
	}
	return slices.DeleteFunc(v.needed(), func(f Flag) bool { return v.accepts(f, accepted) })
}

// accepts reports whether a flag is among those that a person gave. That of another signer is not.
func (v Verdict) accepts(f Flag, accepted []Flag) bool {
	flag, _ := f.parts()
	return flag != "" && slices.ContainsFunc(accepted, func(a Flag) bool {
		if flag == TrustSigner {
			return a.names(v.Signer)
		}
		return a == flag
	})
}

// exactly is the flag that accepts this package, and no other signer's.
func (v Verdict) exactly(f Flag) Flag {
	if f == TrustSigner {
		return f.Of(string(v.Signer))
	}
	return f
}

// other says which signer was accepted where that is another one.
func (v Verdict) other(f Flag, accepted []Flag) string {
	for _, a := range accepted {
		if flag, signer := a.parts(); f == TrustSigner && flag == TrustSigner && signer != "" {
			return ", and accepted was " + signer
		}
	}
	return ""
}

// Err is nil for a package that may be run without being installed, and a
// [fault.KindVerification] error for one that was revoked, or whose signature is of
// other bytes.
func (v Verdict) Err() error {
	for _, f := range v.Findings {
		if f.State == Revoked || f.State == Bad {
			return fault.Errorf(fault.KindVerification, "%s@%s is %s", v.Skill, v.Version, f.Words).Hinted(fault.Hint{Text: f.Hint, Remedies: f.Remedies})
		}
	}
	return nil
}

// needed are the flags without which the verdict would be a refusal.
func (v Verdict) needed() []Flag {
	var flags []Flag
	for _, f := range v.Findings {
		if f.Refused && f.Flag != "" {
			flags = append(flags, v.exactly(f.Flag))
		}
	}
	return flags
}

// Key is the public key of the signer, for showing; zero when there is none.
func (v Verdict) Key() signature.Key {
	for _, s := range v.question.Signatures {
		if s.Signer == v.Signer {
			return s.Key
		}
	}
	return signature.Key{}
}

// Title is the signer for people; empty for nobody.
func (v Verdict) Title() string {
	if v.Signer == "" {
		return ""
	}
	return v.known.signer(v.Signer).Title()
}

// Artifact is the digest of the artifact that was judged.
func (v Verdict) Artifact() manifests.Digest { return v.question.Artifact }
