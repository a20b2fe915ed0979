package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/review"
	"github.com/skillet-run/skillet/host/secret"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) permissionCommand() *cli.Command {
	return &cli.Command{
		Name:  "permission",
		Usage: "show, grant and revoke what a skill may do",
		Description: "A grant holds for one version of a skill, byte for byte.\n\n" +
			"Capabilities:\n" + capabilityExamples() + "\n" +
			"Examples:\n  skillet permission show files\n  skillet permission grant files \"fs.read:$PWD/docs/**\"",
		Subcommands: []*cli.Command{
			t.permissionShow(), t.permissionGrant(), t.permissionRevoke(), t.permissionReset(), t.permissionSuggest(), t.permissionImport(),
		},
	}
}

// capabilityExamples are an example of each capability and what it means, a line each.
func capabilityExamples() string {
	kinds, width := capability.Kinds(), 0
	for _, k := range kinds {
		width = max(width, len(k.Example))
	}
	var lines strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&lines, "  %-*s  %s\n", width, k.Example, capability.MustParse(k.Example).Words())
	}
	return lines.String()
}

func (t *terminal) permissionShow() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show what a skill asks for and what it was granted",
		ArgsUsage:   "SKILL[@VERSION]",
		Description: "Examples:\n  skillet permission show files\n  skillet permission show files --json",
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one skill")
			if err != nil {
				return err
			}
			s, err := t.lookup(ctx, h, args[0])
			if err != nil {
				return err
			}
			return t.showGrants(ctx, h, s)
		}),
	}
}

// permissions is what --json prints of a skill's grants.
type permissions struct {
	Skill  string           `json:"skill"`
	Digest string           `json:"digest"`
	Grants []approval.Grant `json:"grants"`
	// Asks is what the manifest asks for and no live grant covers.
	Asks []ask `json:"asks"`
}

// An ask is what a manifest asks for, with its reason.
type ask struct {
	Capability capability.Capability `json:"capability"`
	Words      string                `json:"words"`
	Reason     string                `json:"reason,omitempty"`
}

func (t *terminal) showGrants(ctx context.Context, h *host.Host, s registry.Skill) error {
	gs, err := h.Desk.Grants(ctx, s.Digest)
	if err != nil {
		return err
	}
	asks, err := openAsks(ctx, h, s, gs)
	if err != nil {
		return err
	}
	return t.answer(permissions{s.Ref(), string(s.Digest), append([]approval.Grant{}, gs...), asks}, func() {
		t.say("%s (sha256:%s) is granted:%s", plain(s.Ref()), s.Digest.Short(), none(len(gs)))
		for _, g := range gs {
			t.say("  %s", standingLine(g))
		}
		if len(asks) > 0 {
			t.say("its manifest asks for more, seen from this directory:")
		}
		for _, a := range asks {
			t.say("  %s  (%s)%s", plain(a.Words), plain(a.Capability.String()), because(plain(a.Reason), nil))
		}
	})
}

// openAsks is what a skill's manifest asks for and was not granted for all calls,
// where relative paths mean the current directory.
func openAsks(ctx context.Context, h *host.Host, s registry.Skill, gs []approval.Grant) ([]ask, error) {
	p, err := h.Registry.Package(ctx, s.Digest)
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current directory: %w", err)
	}
	requests, err := p.Manifest().Requests(dir)
	if err != nil {
		return nil, err
	}
	var live []capability.Capability
	for _, g := range gs {
		if g.Live(time.Now()) && !g.Conditional() {
			live = append(live, g.Capability)
		}
	}
	granted, asks := capability.NewSet(live...), []ask{}
	for _, r := range requests {
		if !granted.Covers(r.Capability) {
			asks = append(asks, ask{r.Capability, r.Capability.Words(), r.Reason})
		}
	}
	return asks, nil
}

// grantLine is a grant in one line: what, as a capability, and on which terms.
func grantLine(g approval.Grant) string {
	terms := []string{g.Capability.String()}
	if g.MaxUses > 0 {
		terms = append(terms, count(g.MaxUses, "run"))
	}
	if !g.ExpiresAt.IsZero() {
		terms = append(terms, "until "+when(g.ExpiresAt))
	}
	if words := g.Words(); words != "" {
		terms = append(terms, "only "+words)
	}
	return plain(fmt.Sprintf("%s (%s)", g.Capability.Words(), strings.Join(terms, ", ")))
}

// standingLine is a grant in one line, with who gave it and what became of it.
func standingLine(g approval.Grant) string {
	line := fmt.Sprintf("%s by %s on %s", grantLine(g), plain(g.By), when(g.At))
	if g.MaxUses > 0 {
		line += fmt.Sprintf(", used %d of %d times", g.Uses, g.MaxUses)
	}
	if !g.Live(time.Now()) {
		line += " (ended)"
	}
	return line
}

func (t *terminal) permissionGrant() *cli.Command {
	return &cli.Command{
		Name:      "grant",
		Usage:     "let a skill do something",
		ArgsUsage: "SKILL[@VERSION] CAPABILITY...",
		Description: "Examples:\n" +
			"  skillet permission grant files \"fs.read:$PWD/docs/**\"\n" +
			"  skillet permission grant http 'http:GET https://api.example.com/v1/*' --expires 24h\n" +
			"  skillet permission grant http 'http:GET http://127.0.0.1:8080/*' --scope once\n" +
			"  skillet permission grant http 'http:GET https://example.com/*' --until 2030-01-31 --for 'url=https://example.com/a*'",
		Flags: append([]cli.Flag{
			&cli.DurationFlag{Name: "expires", Usage: "end the grant after this `TIME`, such as 24h or 7d"},
			&cli.IntFlag{Name: "uses", Usage: "end the grant after `N` runs"},
			&cli.StringFlag{Name: "reason", Usage: "why, shown wherever the grant is"},
			yesFlag("grant what has no bound, such as every file"),
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be granted"},
		}, scopeFlags()...),
		Action: t.withState(t.grant),
	}
}

func (t *terminal) grant(ctx context.Context, c *cli.Context, h *host.Host) error {
	args := c.Args().Slice()
	if len(args) < 2 {
		return fault.Errorf(fault.KindUsage, "permission grant takes a skill and a capability").WithHint("`skillet help permission` shows the capabilities")
	}
	s, err := t.lookup(ctx, h, args[0])
	if err != nil {
		return err
	}
	cs, err := capabilities(args[1:])
	if err != nil {
		return err
	}
	terms, err := terms(c)
	if err != nil {
		return err
	}
	if err := t.noteUseless(ctx, h, s, cs); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return t.answer(cs, func() { t.noteCapabilities("would grant", s, cs) })
	}
	if err := t.confirmBroad(c, s, cs); err != nil {
		return err
	}
	if err := h.Desk.Grant(ctx, t.person(), s, cs, terms); err != nil {
		return err
	}
	if !t.json {
		t.noteCapabilities("granted", s, cs)
		return nil
	}
	return t.showGrants(ctx, h, s)
}

// confirmBroad asks about capabilities that have no bound.
func (t *terminal) confirmBroad(c *cli.Context, s registry.Skill, cs []capability.Capability) error {
	var words []string
	for _, one := range cs {
		if one.Unbounded() {
			words = append(words, one.Words())
		}
	}
	if len(words) == 0 || c.Bool("yes") || !t.canAsk() {
		return nil
	}
	return t.confirm("permission grant", plain(fmt.Sprintf("%s could then %s. Grant it?", s.Ref(), strings.Join(words, ", and "))))
}

// noteUseless says which capabilities a skill has no code for.
func (t *terminal) noteUseless(ctx context.Context, h *host.Host, s registry.Skill, cs []capability.Capability) error {
	p, err := h.Registry.Package(ctx, s.Digest)
	if err != nil || t.json {
		return err
	}
	useless, err := review.Useless(p, cs)
	if err != nil {
		return err
	}
	for _, one := range useless {
		t.note("skillet: %s has no code that could use %s", plain(s.Ref()), plain(one.String()))
	}
	return nil
}

func (t *terminal) noteCapabilities(verb string, s registry.Skill, cs []capability.Capability) {
	for _, c := range cs {
		t.note("%s %s: %s", verb, plain(s.Ref()), plain(c.Words()))
	}
}

func capabilities(texts []string) ([]capability.Capability, error) {
	var cs []capability.Capability
	for _, text := range texts {
		c, err := capability.Parse(text)
		if err != nil {
			return nil, fault.Wrap(fault.KindUsage, err).WithHint("%s", inFull(text))
		}
		if err := reachable(c); err != nil {
			return nil, err
		}
		if !slices.Contains(cs, c) {
			cs = append(cs, c)
		}
	}
	return cs, nil
}

// reachable refuses to name secrets that cannot be: a grant of one would look as
// if it meant something.
func reachable(c capability.Capability) error {
	name, pattern := strings.CutSuffix(c.Resource(), "*")
	if c.Action() != capability.Secret || pattern && name == "" {
		return nil
	}
	if err := secret.CheckName(name); err != nil {
		return fault.Wrap(fault.KindUsage, err).WithHint("`skillet secret list` shows the secrets there are")
	}
	return nil
}

// inFull is the hint for a capability that cannot be read: the whole path, if
// it is a relative one.
func inFull(text string) string {
	for _, action := range []string{"fs.read:", "fs.write:"} {
		path, ok := strings.CutPrefix(text, action)
		if abs, err := absolute(path); ok && path != "" && !filepath.IsAbs(path) && err == nil {
			return "write " + action + abs
		}
	}
	return "`skillet help permission` shows the capabilities"
}

func terms(c *cli.Context) (approval.Terms, error) {
	terms, err := scopeTerms(c)
	if err != nil {
		return terms, err
	}
	terms.Reason = c.String("reason")
	for _, two := range [][2]string{{"expires", "until"}, {"uses", "scope"}} {
		if c.IsSet(two[0]) && c.IsSet(two[1]) && (two[0] == "expires" || terms.MaxUses > 0) {
			return terms, fault.Errorf(fault.KindUsage, "--%s and --%s say the same in two ways", two[0], two[1]).WithHint("give one of them")
		}
	}
	if c.IsSet("expires") {
		terms.ExpiresAt = time.Now().Add(c.Duration("expires")).UTC()
	}
	if c.IsSet("uses") {
		terms.MaxUses = c.Int("uses")
	}
	return terms, nil
}

func (t *terminal) permissionRevoke() *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "take back grants: those that the capability covers",
		ArgsUsage: "SKILL[@VERSION] CAPABILITY...",
		Description: "Narrower grants go as well, for what is taken back shall not be left through them: on a\n" +
			"terminal you are asked first. With --exact only the grants of exactly these capabilities go.\n\n" +
			"Examples:\n  skillet permission revoke files \"fs.read:$PWD/docs/**\"\n" +
			"  skillet permission revoke files 'fs.read:/**' --exact\n" +
			"  skillet permission revoke http 'http:GET https://api.example.com/**'",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "exact", Usage: "leave narrower grants"},
			yesFlag("take back narrower grants too"),
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be taken back"},
		},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if c.NArg() < 2 {
				return fault.Errorf(fault.KindUsage, "permission revoke takes a skill and a capability").WithHint("`skillet permission show SKILL` lists its grants; `skillet permission reset` takes back all")
			}
			cs, err := capabilities(c.Args().Tail())
			if err != nil {
				return err
			}
			return t.revoke(ctx, c, h, cs)
		}),
	}
}

// confirmNarrower asks about grants that go although they are not named.
func (t *terminal) confirmNarrower(c *cli.Context, s registry.Skill, ending []approval.Grant, cs []capability.Capability) error {
	named := approval.Exactly(cs)
	others := approval.Texts(slices.DeleteFunc(slices.Clone(ending), named))
	if len(cs) == 0 || len(others) == 0 || c.Bool("yes") || !t.canAsk() {
		return nil
	}
	return t.confirm("permission revoke", plain(fmt.Sprintf("%s loses %s too, which --exact leaves. Take them back?", s.Ref(), strings.Join(others, ", "))))
}

func (t *terminal) permissionReset() *cli.Command {
	return &cli.Command{
		Name:        "reset",
		Usage:       "take back all grants of a skill",
		ArgsUsage:   "SKILL[@VERSION]",
		Description: "Examples:\n  skillet permission reset files --dry-run\n  skillet permission reset files --yes",
		Flags: []cli.Flag{
			yesFlag("take them back"),
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be taken back"},
		},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one skill")
			if err != nil {
				return err
			}
			if !c.Bool("yes") && !c.Bool("dry-run") {
				if err := t.confirm("permission reset", "Take back every grant of "+plain(args[0])+"?"); err != nil {
					return err
				}
			}
			return t.revoke(ctx, c, h, nil)
		}),
	}
}

// revoke takes back the grants of the skill that cs cover, all when cs is
// empty; with --dry-run it only shows them.
func (t *terminal) revoke(ctx context.Context, c *cli.Context, h *host.Host, cs []capability.Capability) error {
	s, err := t.lookup(ctx, h, c.Args().First())
	if err != nil {
		return err
	}
	meant, revoke := approval.Covered(cs), h.Desk.Revoke
	if c.Bool("exact") {
		meant, revoke = approval.Exactly(cs), h.Desk.RevokeExactly
	}
	gs, err := h.Desk.Grants(ctx, s.Digest)
	if err != nil {
		return err
	}
	ending := slices.DeleteFunc(gs, func(g approval.Grant) bool { return !meant(g) })
	if c.Bool("dry-run") {
		return t.showRevoked("would lose", s, ending)
	}
	if err := t.confirmNarrower(c, s, ending, cs); err != nil {
		return err
	}
	ended, err := revoke(ctx, t.person().Actor(), s, cs)
	if err != nil {
		return err
	}
	return t.showRevoked("lost", s, ended)
}

func (t *terminal) showRevoked(verb string, s registry.Skill, ended []approval.Grant) error {
	return t.answer(permissions{s.Ref(), string(s.Digest), append([]approval.Grant{}, ended...), []ask{}}, func() {
		t.note("%s %s: %s%s", plain(s.Ref()), verb, plain(strings.Join(approval.Texts(ended), ", ")), strings.TrimSpace(none(len(ended))))
	})
}
