package govern

import (
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// Signers say who may sign which skills, and what is revoked.
type Signers struct {
	p    *Parts
	keys *Keys
}

// The views of what is known about signers; see package trust.
type (
	// A Signer is somebody who signs, and a SignedSkill what is remembered of a skill.
	Signer      = trust.Signer
	SignedSkill = trust.Skill
	// A RevokedEntry is what revokes one thing, and a Skill an installed version.
	RevokedEntry = trust.Entry
	Skill        = registry.Skill
	// A Revocation is one thing that is revoked, and a RevokedPackage a package that was
	// accepted here before.
	Revocation     = trust.Revocation
	RevokedPackage = trust.RevokedPackage
)

// Trusted is all that is known about who signs.
type Trusted struct {
	Signers []Signer      `json:"signers"`
	Skills  []SignedSkill `json:"skills"`
	Roots   []TrustRoot   `json:"roots"`
	// Revoked is what was revoked here or by a list, and Quarantined the installed versions
	// that are not run for that.
	Revoked     []Revocation `json:"revoked"`
	Quarantined []string     `json:"quarantined"`
}

// A TrustRoot makes keyless signatures verifiable.
type TrustRoot struct {
	Name   string           `json:"name"`
	Digest manifests.Digest `json:"digest"`
	By     string           `json:"by"`
}

// List returns everything that is known.
func (s *Signers) List(ctx context.Context, by approval.Principal) (Trusted, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Trusted{}, err
	}
	signers, err := s.p.Trust.Signers(ctx)
	if err != nil {
		return Trusted{}, err
	}
	skills, err := s.p.Trust.Skills(ctx)
	if err != nil {
		return Trusted{}, err
	}
	all := Trusted{Signers: append([]Signer{}, signers...), Skills: append([]SignedSkill{}, skills...), Roots: []TrustRoot{}, Quarantined: []string{}}
	roots, err := s.p.Trust.Roots(ctx)
	if err != nil {
		return all, err
	}
	for _, r := range roots {
		all.Roots = append(all.Roots, rootView(r.Name, r.Document, r.By))
	}
	if all.Revoked, err = s.Revocations(ctx, by); err != nil {
		return all, err
	}
	installed, err := s.p.Registry.List(ctx)
	for _, i := range installed {
		if i.Disabled != nil && i.Disabled.Quarantined {
			all.Quarantined = append(all.Quarantined, i.Ref())
		}
	}
	return all, err
}

func rootView(name string, document []byte, by string) TrustRoot {
	return TrustRoot{name, manifests.DigestOf(document), by}
}

// IsSigner reports whether a text is a signer: key:sha256:HEX or keyless:ISSUER/IDENTITY.
func IsSigner(text string) bool {
	_, err := signature.ParseSigner(text)
	return err == nil
}

// An AddSigner asks for a signer to be made known.
type AddSigner struct {
	// Signer is the text of a signer, or names one that is known. Key is a public key in
	// PEM, in its place.
	Signer string
	Key    []byte
	// Label is what people call it, and Names are the names of skills that are its own.
	Label string
	Names []string
	// Revoker has its revocation lists count for what others signed, too.
	Revoker bool
}

// Add makes a signer known. What is known about it already is kept, and added to.
func (s *Signers) Add(ctx context.Context, by approval.Human, req AddSigner) (Signer, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Signer{}, err
	}
	who, err := s.named(ctx, req)
	if err != nil {
		return Signer{}, err
	}
	who.Label, who.Names, who.Revoker = req.Label, req.Names, req.Revoker
	return s.p.Trust.Add(ctx, by, who)
}

// named is the signer that a request means.
func (s *Signers) named(ctx context.Context, req AddSigner) (Signer, error) {
	if len(req.Key) > 0 {
		k, err := signature.ParseKey(req.Key)
		if err != nil {
			return Signer{}, fault.Wrap(fault.KindUsage, err).WithHint("name a public key in PEM, as `cosign public-key` writes it")
		}
		return Signer{Signer: k.Signer(), Key: k}, nil
	}
	if who, err := signature.ParseSigner(req.Signer); err == nil {
		return Signer{Signer: who}, nil
	}
	found, err := s.p.Trust.Find(ctx, req.Signer)
	if err != nil {
		return Signer{}, fault.Errorf(fault.KindNotFound, "%s is neither a file, nor a signer, nor one that is known", req.Signer).
			WithHint("%s shows who is known", fault.List(fault.Signers))
	}
	return Signer{Signer: found.Signer, Key: found.Key}, nil
}

// An AddRoot asks for a trust root to be added: a trusted_root.json of Sigstore.
type AddRoot struct {
	Name     string
	Document []byte
}

// AddRoot makes keyless signatures verifiable that the authorities and logs of a trust root
// vouch for; one of that name is replaced. Nobody is trusted by that alone.
func (s *Signers) AddRoot(ctx context.Context, by approval.Human, req AddRoot) (TrustRoot, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return TrustRoot{}, err
	}
	err := s.p.Trust.AddRoot(ctx, by, req.Name, req.Document)
	return rootView(req.Name, req.Document, by.Actor()), err
}

// Remove forgets a signer, with every skill it is remembered for; or a skill; or a trust
// root. It returns what it forgot, in words. What is forgotten is met for the first time
// again.
func (s *Signers) Remove(ctx context.Context, by approval.Human, what string) ([]string, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return nil, err
	}
	return s.p.Trust.Remove(ctx, by, what)
}

// A RevokePackages asks for something to be refused from now on.
type RevokePackages struct {
	// What is SKILL[@VERSION], sha256:DIGEST, artifact:sha256:DIGEST, or a signer: its text,
	// or one that is known.
	What string
	// Reason is shown wherever something is refused for it.
	Reason string
}

// A Revoking is what revoking something would do.
type Revoking struct {
	Entry RevokedEntry
	// Skills are the installed versions that would be put into quarantine.
	Skills []Skill
}

// PlanRevoke says what revoking something would do. It revokes nothing.
func (s *Signers) PlanRevoke(ctx context.Context, by approval.Principal, req RevokePackages) (Revoking, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Revoking{}, err
	}
	e, err := s.revocable(ctx, req.What)
	if err != nil {
		return Revoking{}, err
	}
	plan := Revoking{Entry: e}
	if plan.Entry.Reason = req.Reason; req.Reason == "" {
		return plan, fault.Errorf(fault.KindUsage, "trust revoke needs a reason, for whoever meets the refusal").WithHint("say why in a sentence")
	}
	plan.Skills, err = s.revokedBy(ctx, plan.Entry)
	return plan, err
}

// revocable is what a word names that can be revoked.
func (s *Signers) revocable(ctx context.Context, word string) (trust.Entry, error) {
	digest, artifact := strings.CutPrefix(word, "artifact:")
	if d, err := manifests.ParseDigest(digest); err == nil && artifact {
		return trust.Entry{Artifact: d}, nil
	} else if err == nil {
		return trust.Entry{Content: d}, nil
	}
	if who, err := signature.ParseSigner(word); err == nil {
		return trust.Entry{Signer: who}, nil
	}
	if found, err := s.p.Trust.Find(ctx, word); err == nil {
		return trust.Entry{Signer: found.Signer, Name: found.Label}, nil
	}
	if strings.HasPrefix(word, "key:") {
		return trust.Entry{}, fault.Errorf(fault.KindNotFound, "no signer that is known is %s, and it is not whole", word).
			WithHint("%s shows who is known", fault.List(fault.Signers))
	}
	ref, err := manifests.ParseRef(word)
	if err != nil {
		return trust.Entry{}, fault.Wrap(fault.KindUsage, err).WithHint("%s shows what is installed", fault.List(fault.Skills))
	}
	skill, err := s.p.installed(ctx, ref)
	return trust.Entry{Content: skill.Digest, Name: skill.Ref()}, err
}

// revokedBy are the installed versions that an entry would put into quarantine.
func (s *Signers) revokedBy(ctx context.Context, e trust.Entry) ([]registry.Skill, error) {
	all, err := s.p.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	rs, err := s.p.Trust.Revocations(ctx)
	if err != nil {
		return nil, err
	}
	hit := []registry.Skill{}
	for _, i := range all {
		t, err := s.p.Trust.TargetOf(ctx, i.Name, i.Digest, i.Artifact)
		if err != nil {
			return nil, err
		}
		if e.Revokes(t, rs) {
			hit = append(hit, i)
		}
	}
	return hit, nil
}

// A Revoked is what revoking something did.
type Revoked struct {
	// Packages were accepted here before, and are revoked by it.
	Packages []RevokedPackage
	// Isolated are the installed versions that are in quarantine now.
	Isolated []string
}

// Revoke refuses something from now on, and puts what is installed of it into quarantine.
// It fails with a [fault.KindConflict] error when that would be other versions than the plan
// says.
func (s *Signers) Revoke(ctx context.Context, by approval.Human, plan Revoking) (Revoked, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Revoked{}, err
	}
	now, err := s.revokedBy(ctx, plan.Entry)
	if err != nil {
		return Revoked{}, err
	}
	if !slices.Equal(refsOf(now), refsOf(plan.Skills)) {
		return Revoked{}, fault.Errorf(fault.KindConflict, "what is installed of it changed meanwhile").WithHint("look at it again")
	}
	packages, err := s.p.Trust.Revoke(ctx, by, plan.Entry)
	if err != nil {
		return Revoked{}, err
	}
	isolated, err := s.isolate(ctx, by)
	return Revoked{append([]RevokedPackage{}, packages...), isolated}, err
}

// An Unrevoked is what is not revoked here any more.
type Unrevoked struct {
	RevokedEntry
	// Released are the installed versions that run again.
	Released []string `json:"-"`
}

// Unrevoke takes back what was revoked here, and ends the quarantine of what nothing else
// revokes.
func (s *Signers) Unrevoke(ctx context.Context, by approval.Human, what string) (Unrevoked, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return Unrevoked{}, err
	}
	e, err := s.revocable(ctx, what)
	if err != nil {
		return Unrevoked{}, err
	}
	if err := s.p.Trust.Unrevoke(ctx, by, e); err != nil {
		return Unrevoked{}, err
	}
	released, err := s.release(ctx, by)
	return Unrevoked{e, released}, err
}
