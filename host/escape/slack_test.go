package escape

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// loosening is a condition that is loosened, with an option of the real parts,
// and the attempts that then get through.
type loosening struct {
	name  string
	slack slack
	frees string // ids
}

// grant is a slack that grants more.
func grant(more func(l *lab) []string) slack {
	return settingsOf(func(l *lab, s *hostfn.Settings) {
		set, err := capability.ParseSet(more(l)...)
		l.must(err)
		s.Granted = s.Granted.Union(set)
	})
}

func settingsOf(change func(l *lab, s *hostfn.Settings)) slack { return slack{settings: change} }

func looseGrants() []loosening {
	return []loosening{
		{
			"every file granted", grant(func(l *lab) []string { return l.files(".") }),
			"symlink-found symlink-directory swap-race dotted-path rename host-function-paths read-only write-only no-files refusal-oracle",
		},
		{
			"every host granted", grant(func(l *lab) []string {
				return []string{grantSite(l.other), grantSite(l.site), "http:* http://localhost:" + l.site.port() + "/*", "http:* http://localhost:" + l.other.port() + "/*"}
			}),
			"ungranted-host redirect-out redirect-body redirect-scheme address-spelling",
		},
		{"clock and randomness granted", grant(func(*lab) []string { return []string{"clock", "random"} }), "clock stopwatch randomness"},
		{
			"state, messages and secrets granted", grant(func(*lab) []string { return []string{"kv", "notify", "secret:*"} }),
			"kv-ungranted notify-ungranted secret-ungranted",
		},
		{"the host's home is elsewhere", settingsOf(func(_ *lab, s *hostfn.Settings) { s.Home = "/nowhere" }), "host-home"},
		{
			"the name of another skill", settingsOf(func(_ *lab, s *hostfn.Settings) {
				s.Principal.Skill, s.Principal.Origin = victimName, policies.OriginUser
			}),
			"kv-foreign kv-namesake",
		},
		{
			"the secret is configuration", settingsOf(func(l *lab, s *hostfn.Settings) { s.Config = map[string]string{"token": l.bench.secret} }),
			"secret-value",
		},
		{
			"the secret belongs everywhere", settingsOf(func(l *lab, s *hostfn.Settings) {
				for i := range s.Injections {
					s.Injections[i].URL = l.other.url("/*")
				}
			}),
			"secret-redirect",
		},
		{
			"input and arguments", slack{call: func(c *sandbox.Call) { c.Input, c.Args = []byte("typed"), []string{"a", "b"} }},
			"arguments standard-input",
		},
	}
}

func looseLimits() []loosening {
	const most = 1 << 30
	return []loosening{
		{
			"no limits", slack{limits: func(l *sandbox.Limits) {
				*l = sandbox.Limits{MemoryBytes: most, Fuel: 1 << 60, Wall: 2 * time.Second, OutputBytes: most, LogBytes: most, HostCalls: most}
			}},
			"memory-growth memory-declared table-growth block-flood host-call-flood output-flood stdout-flood extism-output-flood stderr-flood",
		},
		{
			"no fuel limit", slack{limits: func(l *sandbox.Limits) { l.Fuel, l.Wall = 1<<60, 50*time.Millisecond }},
			"endless-loop start-loop initialise-loop tail-calls straight-code bulk-memory tree-recursion random-flood fuel-tampering",
		},
		{
			"a fuel limit that comes before all others", slack{limits: func(l *sandbox.Limits) { l.Fuel = 100 }},
			"collector cancelled sleep deep-recursion indirect-recursion wide-frames reentry memory-leap block-leap slow-response",
		},
		{
			"no quotas", settingsOf(func(_ *lab, s *hostfn.Settings) {
				s.Files = jail.Quota{OpenFiles: most, FileBytes: 1 << 50, TotalBytes: 1 << 50, Files: most, Entries: most}
				s.LogBytes, s.Notifications, s.VarBytes = most, most, most
				s.KVQuotaBytes, s.MaxHTTPBytes, s.HTTPTimeout = most, most, attemptTime
			}),
			"open-file-flood disk-flood huge-file file-count-flood listing-flood huge-response packed-response log-flood notify-flood kv-flood variable-flood",
		},
		{
			"leftovers in one call", slack{together: true},
			"left-memory left-size left-global left-table left-after-trap left-block left-variable left-file left-response left-start",
		},
		{
			"modules that are harmless", slack{module: plain("", num(0))},
			"count-lies locals-lie locals-and-loops wide-branch deep-nesting many-loops many-functions huge-function many-tables memory-lie name-bombs huge-exports export-names " +
				"type-index odd-encoding type-confusion threads unknown-import import-signature sibling-import reserved-names",
		},
	}
}

// steadfast are the attempts that no option of the parts lets through. Of those
// in the table of docs/escape.md, stock parts let some through.
const steadfast = "symlink-read symlink-write symlink-absolute symlink-loop hard-link hard-link-found absolute-path descriptor-walk rename-link " +
	"fifo socket device-link kernel-files credentials autorun descriptor-bomb redirect-loop private-name mapped-name dns-rebinding cloud-metadata " +
	"header-smuggling url-smuggling url-normalising secret-echo header-flood cookie out-of-bounds wild-pointers proc-exit error-flood log-control request-flood " +
	"environment truncated mutated data-segments element-segments indirect-call"

// TestNotices loosens one condition after the other, and sees that the suite
// notices what then gets through.
func TestNotices(t *testing.T) {
	t.Parallel()
	seen := strings.Fields(steadfast)
	for _, c := range slices.Concat(looseGrants(), looseLimits()) {
		ids := strings.Fields(c.frees)
		seen = append(seen, ids...)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := run(t.Context(), hclog.NewNullLogger(), Options{Only: ids}, c.slack)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != len(ids) {
				t.Errorf("%d of %d attempts were made", len(found), len(ids))
			}
			for _, f := range found {
				if f.Contained || f.Breach == "" {
					t.Errorf("%s is contained: %s", f.ID, f.Stopped)
				}
			}
		})
	}
	for _, a := range List() {
		if n := count(seen, a.ID); n != 1 {
			t.Errorf("%s stands in %d of the lists", a.ID, n)
		}
	}
}

// TestEveryLimitIsLoosened sees that TestNotices lifts each limit of a call: an attempt to
// pass it then gets through.
func TestEveryLimitIsLoosened(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"WallSet": "it is only told", "InputBytes": "it bounds the caller", "TableElems": "no call can lift it above that of the gate", "Files": "it is lifted by the settings of host functions",
	}
	before := sandbox.DefaultLimits()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[sandbox.Limits]()) {
		lifted := slices.ContainsFunc(looseLimits(), func(c loosening) bool {
			after := reflect.ValueOf(c.slack.lifted(before)).FieldByIndex(f.Index)
			return !after.IsZero() && !after.Equal(reflect.ValueOf(before).FieldByIndex(f.Index))
		})
		if !lifted && elsewhere[f.Name] == "" {
			t.Errorf("TestNotices never lifts Limits.%s", f.Name)
		}
	}
}

func count(all []string, s string) (n int) {
	for _, x := range all {
		if x == s {
			n++
		}
	}
	return n
}

// TestIdle has guests that do not run at all. None of that is containment.
func TestIdle(t *testing.T) {
	t.Parallel()
	idle := slack{call: func(c *sandbox.Call) { c.Export = "none" }, module: plain("", num(0))}
	found, err := run(t.Context(), hclog.NewNullLogger(), Options{}, idle)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Contained && !slices.Contains([]string{"collector", "cancelled"}, f.ID) { // these call by themselves
			t.Errorf("%s is contained: %s", f.ID, f.Stopped)
		}
	}
}

// TestInspect does the harm itself, and sees that it is found.
func TestInspect(t *testing.T) {
	t.Parallel()
	b, err := openBench(t.Context(), hclog.NewNullLogger(), Options{Dir: mustRealPath(t)}, slack{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for i, c := range []struct {
		want string // of the breach; "" for none
		run  func(l *lab)
	}{
		{"", func(l *lab) { l.stopped("it") }},
		{"nothing stopped it", func(*lab) {}},
		{"changed: [/canary]", func(l *lab) { l.must(l.put("closed/canary", "touched")) }},
		{"changed: [/more]", func(l *lab) { l.must(l.put("closed/more", "x")) }},
		{"changed: [/secret]", func(l *lab) { l.must(os.Remove(l.path("closed/secret"))) }},
		{"the secret came out", func(l *lab) {
			l.hear(callResult{Result: sandbox.Result{Stderr: []byte("x" + l.bench.secret)}})
		}},
		{"the secret came out", func(l *lab) { l.hear(callResult{err: fmt.Errorf("read %s", l.bench.secret)}) }},
		{"was asked: GET /x", func(l *lab) {
			e := l.envWithSites()
			l.asks(e, get(l.other.url("/x")))
		}},
		{"panic: out of reach", func(*lab) { panic("out of reach") }},
		{"innocent guest no longer works", func(l *lab) {
			l.stopped("it")
			_ = l.bench.innocent.Close(context.Background())
		}},
	} {
		f := b.make(t.Context(), "test", attempt{fmt.Sprint("inspect-", i), "", c.run})
		if f.Contained != (c.want == "") || !strings.Contains(f.Breach, c.want) {
			t.Errorf("%d: %+v, want %q", i, f, c.want)
		}
		if strings.Contains(f.Breach+f.Stopped, b.secret) {
			t.Errorf("%d: the finding tells the secret", i)
		}
	}
}

// envWithSites is an environment with both servers granted.
func (l *lab) envWithSites() *hostfn.Env {
	if !l.sites() {
		return nil
	}
	return l.env(grantSite(l.site), grantSite(l.other))
}

func mustRealPath(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
