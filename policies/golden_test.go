package policies

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/goldentest"
)

func TestDefaultDecisions(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, "")
	goldentest.Table(t, "defaults.txt", func(input string) string { return answer(s.Decide(queryOf(t, input))) })
}

func TestPersonDecisions(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, filepath.Join("testdata", "person"))
	goldentest.Table(t, "person.txt", func(input string) string { return answer(s.Decide(queryOf(t, input))) })
}

func mustLoad(tb testing.TB, dir string) *Set {
	tb.Helper()
	s, err := Load(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func answer(d Decision) string {
	return fmt.Sprintf("%s %v %s", d.Effect, d.Policies, d.Reason)
}

// queryOf reads "phase flags | request or capability".
func queryOf(tb testing.TB, input string) Query {
	tb.Helper()
	left, subject, _ := strings.Cut(input, "|")
	words := strings.Fields(left)
	q := Query{Call: &Call{Began: time.Date(2026, 11, 28, 17, 59, 0, 0, time.UTC), Caller: Caller{CallerPerson, "ada"}, From: FromPerson}, Home: "/home/me/.skillet", Principal: Principal{Skill: "test", Version: "1.0.0", Origin: OriginUser}}
	for _, flag := range words[1:] {
		setFlag(tb, &q, flag)
	}
	subject = strings.ReplaceAll(strings.TrimSpace(subject), "<ZWNJ>", "\u200c")
	switch words[0] {
	case "call":
		q.Request = ParseRequest(subject)
	case "install":
		q.Phase = PhaseInstall
		if subject != "-" {
			q.Capability = capability.MustParse(subject)
		}
	case "process":
		q.Phase = PhaseProcess
	case "tool":
		if q.Phase = PhaseTool; q.Call != nil {
			q.Call.Arguments = []byte(subject)
		}
	default:
		q.Phase = 7
	}
	return q
}

func setFlag(tb testing.TB, q *Query, flag string) {
	tb.Helper()
	name, value, _ := strings.Cut(flag, "=")
	switch name {
	case "granted":
		q.Granted, q.GrantedBy = true, "fs.read:/**"
	case "grant": // with "_" for a space
		q.Granted, q.GrantedBy = true, strings.ReplaceAll(value, "_", " ")
	case "tool":
		q.Call.Tool = value
	case "caller":
		q.Call.Caller, _ = ReadCaller(value)
	case "at":
		q.Call.Began, _ = ReadTime(value)
	case "arguments": // with "_" for a space
		q.Call.Arguments = []byte(strings.ReplaceAll(value, "_", " "))
	case "task":
		q.Call.Task = value
	case "session":
		q.Call.Session = value
	case "from":
		q.Call.From = value
	case "unknown":
		q.Call = nil
	case "approved":
		q.Approved = true
	case "origin":
		q.Principal.Origin = value
	case "skill":
		q.Principal.Skill = value
	case "signer":
		q.Principal.Signer = value
	case "home":
		q.Home = strings.TrimPrefix(value, "-")
	case "bytes":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		q.Bytes = n
	default:
		tb.Fatalf("unknown flag %s", flag)
	}
}

// TestBadPolicies loads each file of testdata/bad alone.
func TestBadPolicies(t *testing.T) {
	t.Parallel()
	goldentest.Table(t, "bad.txt", func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", "bad", name))
		if err != nil {
			return err.Error()
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err.Error()
		}
		s, err := Load(dir)
		if err == nil || s != nil {
			return "loaded"
		}
		said := strings.ReplaceAll(err.Error(), filepath.ToSlash(dir)+"/", "")
		return strings.ReplaceAll(said, "\n", " / ")
	})
}
