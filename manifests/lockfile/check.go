package lockfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/semver"
)

var skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const (
	maxName = 64   // characters of the name of a skill
	maxText = 2048 // bytes of a source or a signer
)

// isLine reports whether text is one line that can be shown as it is.
func isLine(text string) bool {
	return text != "" && len(text) <= maxText && text == strings.TrimSpace(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// A checker gathers what is wrong with a lock.
type checker struct {
	l      *Lock
	index  map[[2]string]int // of the package of a closure and name
	needed map[int]bool      // packages that something leads to
	errs   manifests.Errors
}

func (l *Lock) check() manifests.Errors {
	c := checker{l: l, index: map[[2]string]int{}, needed: map[int]bool{}}
	if l.Format != Format {
		c.report("lockfile_version", fmt.Sprintf("is %d, and this skillet reads %d", l.Format, Format), "update skillet, or lock again")
		return c.errs
	}
	for i, p := range l.Packages {
		c.pack(fmt.Sprintf("packages[%d]", i), i, p)
	}
	c.sameBytes()
	// A person may ask for two versions side by side, and twice about one.
	c.requirements("roots", "", l.Roots, func(r Requirement) Requirement { return r })
	for i, p := range l.Packages {
		c.requirements(fmt.Sprintf("packages[%d].dependencies", i), p.Closure, p.Dependencies, byName)
	}
	if len(c.errs) == 0 {
		c.reachable()
	}
	return c.errs
}

func (c *checker) report(path, message, suggestion string) {
	c.errs = append(c.errs, manifests.Problem{Path: path, Message: message, Suggestion: suggestion})
}

func (c *checker) pack(at string, i int, p Package) {
	c.name(at+".name", p.Name)
	c.version(at+".version", p.Version)
	c.digest(at+".digest", p.Digest)
	if p.Artifact.Artifact != "" {
		c.digest(at+".artifact", p.Artifact.Artifact)
	}
	if !isLine(p.Source) {
		c.report(at+".source", "does not say where the package is from", "")
	}
	if p.Signer != "" && (!isLine(p.Signer) || !strings.HasPrefix(p.Signer, "key:") && !strings.HasPrefix(p.Signer, "keyless:")) {
		c.report(at+".signer", "names no signer", "write key:sha256:… or keyless:…, or leave it out")
	}
	key := [2]string{p.Closure, p.Name}
	if first, ok := c.index[key]; ok {
		c.report(at, fmt.Sprintf("is the second version of %s there, after packages[%d]", p.Name, first), "a closure has one version of a skill")
		return
	}
	c.index[key] = i
}

func (c *checker) name(at, name string) {
	if len(name) > maxName || !skillName.MatchString(name) {
		c.report(at, fmt.Sprintf("%q is not a name", name), "write lower-case letters, digits and single hyphens, such as html-to-text")
	}
}

func (c *checker) version(at, text string) {
	var refused *semver.Error
	if _, err := semver.ParseVersion(text); errors.As(err, &refused) {
		c.report(at, fmt.Sprintf("%q is not a semantic version", refused.Text), refused.Suggestion())
	}
}

func (c *checker) digest(at string, d manifests.Digest) {
	if _, err := manifests.ParseDigest(string(d)); err != nil {
		c.report(at, fmt.Sprintf("%.80q is not a digest", string(d)), `write "sha256:" and 64 lower-case hexadecimal digits`)
	}
}

// sameBytes demands that a version is the same package in every closure.
func (c *checker) sameBytes() {
	first := map[[2]string]Package{}
	for i, p := range c.l.Packages {
		key := [2]string{p.Name, p.Version}
		if other, ok := first[key]; ok && other.Artifact != p.Artifact {
			c.report(fmt.Sprintf("packages[%d]", i), fmt.Sprintf("%s is not the same package as %s", p.ID(), other.ID()), "lock again")
		}
		first[key] = p
	}
}

func byName(r Requirement) Requirement { return Requirement{Name: r.Name} }

// requirements checks a list in which no two are the same in what key returns.
func (c *checker) requirements(at, closure string, all []Requirement, key func(r Requirement) Requirement) {
	seen := map[Requirement]bool{}
	for i, r := range all {
		at := fmt.Sprintf("%s[%d]", at, i)
		c.requirement(at, closure, r)
		if seen[key(r)] {
			c.report(at, fmt.Sprintf("%s is there twice", r.Name), "remove one of the two")
		}
		seen[key(r)] = true
	}
}

func (c *checker) requirement(at, closure string, r Requirement) {
	c.name(at+".name", r.Name)
	if r.Closure != "" && !strings.HasPrefix(r.Closure, r.Name+"@") {
		c.report(at+".closure", fmt.Sprintf("%q is not a closure of %s", r.Closure, r.Name), "write name@constraint")
	}
	constraint, err := semver.ParseRange(r.Constraint)
	var refused *semver.Error
	if errors.As(err, &refused) {
		c.report(at+".constraint", fmt.Sprintf("%q is not a version constraint", refused.Text), refused.Suggestion())
		return
	}
	if r.Prereleases {
		constraint = constraint.WithPrereleases()
	}
	if r.Version == "" {
		c.leftOut(at, r)
		return
	}
	v, err := semver.ParseVersion(r.Version)
	switch {
	case err != nil:
		c.version(at+".version", r.Version)
	case !constraint.Allows(v):
		c.report(at+".version", fmt.Sprintf("%s does not satisfy %s %s", r.Version, r.Name, r.Constraint), "lock again")
	default:
		c.resolved(at, closure, r)
	}
}

func (c *checker) leftOut(at string, r Requirement) {
	switch {
	case !r.Optional:
		c.report(at, fmt.Sprintf("%s has no version, and is not optional", r.Name), "lock again")
	case r.Provider != "":
		c.report(at+".provider", "is given without a version", "lock again")
	}
}

// resolved demands that what satisfies a requirement is in the lock.
func (c *checker) resolved(at, closure string, r Requirement) {
	target := r.target(closure)
	i, ok := c.index[target]
	switch {
	case !ok && target[0] != "":
		c.report(at, fmt.Sprintf("%s is not among the packages of the closure %s", target[1], target[0]), "lock again")
	case !ok:
		c.report(at, fmt.Sprintf("%s is not among the packages", target[1]), "lock again")
	case r.Provider == "" && c.l.Packages[i].Version != r.Version:
		c.report(at+".version", fmt.Sprintf("is %s, and the package is %s", r.Version, c.l.Packages[i].ID()), "lock again")
	}
}

// reachable demands that something needs each package.
func (c *checker) reachable() {
	c.follow("", c.l.Roots)
	for i, p := range c.l.Packages {
		if !c.needed[i] {
			c.report(fmt.Sprintf("packages[%d]", i), fmt.Sprintf("nothing needs %s", p.ID()), "lock again")
		}
	}
}

func (c *checker) follow(closure string, all []Requirement) {
	for _, r := range all {
		if i := c.index[r.target(closure)]; r.Version != "" && !c.needed[i] {
			c.needed[i] = true
			c.follow(c.l.Packages[i].Closure, c.l.Packages[i].Dependencies)
		}
	}
}
