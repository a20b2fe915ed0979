package host_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"
)

// reads is a skill that goes on reading a file until it is refused: with the host
// function as its tool run, and as open with a file that it opened once.
func reads(t testing.TB, dir string) *bundle.Package {
	t.Helper()
	m := wasmtest.New()
	sig := wasmtest.Sig("i32 i32 i32 i32", "i64")
	read, write := m.ImportFunc("skillet:host/v1", "fs_read", sig), m.ImportFunc("skillet:host/v1", "fs_write", sig)
	open := m.ImportFunc("wasi_snapshot_preview1", "path_open", wasmtest.Sig("i32 i32 i32 i32 i32 i64 i64 i32 i32", "i32"))
	pread := m.ImportFunc("wasi_snapshot_preview1", "fd_pread", wasmtest.Sig("i32 i32 i32 i64 i32", "i32"))
	m.Memory(1, 1)
	m.ExportMemory("memory")
	m.Data(0, []byte{16, 0, 0, 0, 8, 0, 0, 0}) // one buffer of 8 bytes at 16
	begin, data := fmt.Sprintf(`{"path":%q}`, dir+"/begun"), fmt.Sprintf(`{"path":%q}`, dir+"/data")
	begun := wasmtest.Code(text(m, 1024, begin), text(m, 2048, "x"), wasmtest.Call(write), wasmtest.Drop())
	again := wasmtest.Loop(wasmtest.Empty, text(m, 3072, data), c(0), c(0), wasmtest.Call(read), wasmtest.Op(0xa7), wasmtest.BrIf(0))
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "", begun, again, c(0)))
	opened := wasmtest.Code(c(3), c(0), text(m, 4096, "data"), c(0), wasmtest.I64Const(2|4|1<<21), wasmtest.I64Const(0), c(0), c(40), wasmtest.Call(open))
	still := wasmtest.Loop(wasmtest.Empty, c(40), wasmtest.Load(0x28, 0), c(0), c(1), wasmtest.I64Const(0), c(48), wasmtest.Call(pread), wasmtest.Op(0x45), wasmtest.BrIf(0))
	m.ExportFunc("open", m.Func(wasmtest.Sig("", "i32"), "", opened, wasmtest.If(wasmtest.Empty, wasmtest.Unreachable()), begun, still, c(0)))
	count := wasmtest.Code(wasmtest.LocalGet(0), c(1), wasmtest.Op(0x6a), wasmtest.LocalTee(0), c(manyReads), wasmtest.Op(0x48), wasmtest.BrIf(0))
	many := wasmtest.Loop(wasmtest.Empty, text(m, 3072, data), c(0), c(0), wasmtest.Call(read), wasmtest.Drop(), count)
	m.ExportFunc("many", m.Func(wasmtest.Sig("", "i32"), "i32", many, c(0)))
	return packed(t, m, "reads", "code_session", fmt.Sprintf(`"file_read":[{"path":%q,"reason":"r"}],"file_write":[{"path":%[1]q,"reason":"r"}]`, dir+"/"), "run", "open", "many")
}

// manyReads is how often the tool many reads.
const manyReads = 1000

// callsReads is a skill that calls it.
func callsReads(t *testing.T) *bundle.Package {
	t.Helper()
	m := wasmtest.New()
	ask := m.ImportFunc("skillet:host/v1", "skill_call", wasmtest.Sig("i32 i32 i32 i32", "i64"))
	m.Memory(1, 1)
	m.ExportMemory("memory")
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "", text(m, 1024, `{"skill":"reads","tool":"run"}`), c(0), c(0), wasmtest.Call(ask), wasmtest.Drop(), c(0)))
	return packed(t, m, "caller", "code_inline", `"skills":["reads"]`, "run")
}

// text puts a text into memory and pushes where it is and how long.
func text(m *wasmtest.Module, at int32, s string) []byte {
	m.Data(at, []byte(s))
	return wasmtest.Code(c(at), c(int32(len(s))))
}

func packed(t testing.TB, m *wasmtest.Module, name, kind, permissions string, tools ...string) *bundle.Package {
	t.Helper()
	all := `{"name":"` + strings.Join(tools, `"},{"name":"`) + `"}`
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"d","type":%q,"command":"m.wasm","tools":[%s],"security":{"permissions":{%s}}}`, name, kind, all, permissions),
		"m.wasm":     m.Bytes(),
	})
	must(t, err)
	return p
}

func c(v int32) []byte { return wasmtest.I32Const(v) }

// The end of a right is seen by a call that is under way, whoever made it and in which
// way it ended.
func TestEndOfARight(t *testing.T) {
	var log bytes.Buffer
	home, system, dir := t.TempDir(), t.TempDir(), realPath(t, t.TempDir())
	o := options(home, &log)
	o.System = system
	for _, f := range []string{home, system} {
		must(t, os.Chmod(f, 0o700))
	}
	must(t, os.WriteFile(filepath.Join(dir, "data"), []byte("12345678"), 0o600))
	h, err := host.Open(t.Context(), o)
	must(t, err)
	defer h.Close(t.Context())
	o.Environ = append(o.Environ, "SKILLET_LOG_LEVEL=error")
	other, err := host.Open(t.Context(), o) // as another process has it
	must(t, err)
	defer other.Close(t.Context())
	ada := approval.NewHuman("ada")
	accept(t, h, reads(t, dir))
	accept(t, h, callsReads(t))
	here, err := h.Parts().Registry.Lookup(t.Context(), manifests.Ref{Name: "reads"})
	must(t, err)
	caller, err := h.Parts().Registry.Lookup(t.Context(), manifests.Ref{Name: "caller"})
	must(t, err)
	read := capability.MustParse("fs.read:" + dir + "/**")
	regrant := func(s registry.Skill, c capability.Capability, terms approval.Terms) {
		must(t, h.Parts().Approvals.Grant(t.Context(), ada, s, []capability.Capability{c}, terms))
	}
	revoke := func(d *approval.Store, s registry.Skill, c capability.Capability) error {
		_, err := d.Revoke(t.Context(), ada.Actor(), s, []capability.Capability{c})
		return err
	}
	policy := filepath.Join(home, "policies", "closed.cedar")
	maximum := filepath.Join(system, "maximum.json")
	put := func(path, content string) error { // at once: a call that is under way reads it
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		aside := filepath.Join(t.TempDir(), "aside")
		must(t, os.WriteFile(aside, []byte(content), 0o600))
		return os.Rename(aside, path)
	}
	span := 3 * time.Second
	for _, row := range []struct {
		name            string
		skill           registry.Skill
		tool, session   string
		before          func()
		end             func() error
		after           func()
		request, reason string
	}{
		{"revoked", here, "run", "", nil, func() error { return revoke(h.Parts().Approvals, here, read) },
			func() { regrant(here, read, approval.Terms{}) }, "fs.read:" + dir + "/data", "was not granted"},
		{"revoked, an open file", here, "open", "", nil, func() error { return revoke(h.Parts().Approvals, here, read) },
			func() { regrant(here, read, approval.Terms{}) }, "fs.read:" + dir + "/data", "was not granted"},
		{"revoked by another process, in a session", here, "run", "work", nil, func() error { return revoke(other.Parts().Approvals, here, read) },
			func() { regrant(here, read, approval.Terms{}) }, "fs.read:" + dir + "/data", "was not granted"},
		{"expired", here, "run", "", func() {
			must(t, revoke(h.Parts().Approvals, here, read))
			regrant(here, read, approval.Terms{ExpiresAt: time.Now().Add(span)})
		}, func() error { return nil }, func() {
			must(t, revoke(h.Parts().Approvals, here, read))
			regrant(here, read, approval.Terms{})
		}, "fs.read:" + dir + "/data", "was not granted"},
		{"disabled", here, "open", "", nil, func() error {
			_, err := other.Parts().Installer.Disable(t.Context(), ada.Actor(), manifests.Ref{Name: "reads"}, "it misbehaves")
			return err
		}, func() {
			_, err := h.Parts().Installer.Enable(t.Context(), ada, manifests.Ref{Name: "reads"})
			must(t, err)
		}, "fs.read:" + dir + "/data", "it misbehaves"},
		{"forbidden by a new policy", here, "run", "", nil, func() error {
			return put(policy, fmt.Sprintf("@id(\"closed\")\n@reason(\"it is closed now\")\nforbid (principal, action == Action::\"fs.read\", resource in Path::%q);\n", dir))
		}, func() { must(t, os.Remove(policy)) }, "fs.read:" + dir + "/data", "it is closed now"},
		{"forbidden as a policy cannot be read", here, "run", "", nil, func() error {
			return put(policy, "forbid (")
		}, func() { must(t, os.Remove(policy)) }, "fs.read:" + dir + "/data", "closed.cedar"},
		{"beyond a lowered maximum", here, "run", "", nil, func() error {
			return put(maximum, `{"capabilities":["kv","fs.write:/**","skill:*"],"reason":"ask the desk"}`)
		}, func() { must(t, os.Remove(maximum)) }, "fs.read:" + dir + "/data", "ask the desk"},
		{"revoked from the skill that was called", caller, "run", "", nil, func() error { return revoke(h.Parts().Approvals, here, read) },
			func() { regrant(here, read, approval.Terms{}) }, "", ""},
		{"revoked: to call the skill", caller, "run", "", nil, func() error { return revoke(other.Parts().Approvals, caller, capability.MustParse("skill:reads")) },
			func() { regrant(caller, capability.MustParse("skill:reads"), approval.Terms{}) }, "", ""},
	} {
		begin := func() (done chan task.Result, early *task.Result) {
			if row.before != nil {
				row.before()
			}
			begun := filepath.Join(dir, "begun")
			os.Remove(begun)
			done = make(chan task.Result, 1)
			go func() {
				found, err := find(t, h, manifests.Ref{Name: row.skill.Name})
				target := found.Bare()
				if err == nil {
					target.Granted, err = h.Parts().Approvals.ConsumeGrants(t.Context(), row.skill, approval.Use{})
				}
				if err != nil {
					done <- task.Result{Error: fault.AsError(err)}
					return
				}
				done <- h.Parts().Runner.Run(t.Context(), runner.Call{
					Target: target, Tool: row.tool, Session: row.session, Caller: ada.Actor(),
					Limits: limit.Set{Seconds: 60, HostCalls: int(limit.HostCalls.Ceiling()), Fuel: 1 << 50},
				})
			}()
			for settled := 0; settled < 50; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(begun); err == nil {
					settled++
				}
				select {
				case r := <-done:
					return nil, &r
				default:
				}
			}
			return done, nil
		}
		done, early := begin()
		for ; early != nil && row.before != nil && span < 20*time.Second; done, early = begin() {
			span *= 2 // a busy machine did not begin before its right ended
		}
		if early != nil {
			t.Fatalf("%s: it ended before its right did: %+v %+v", row.name, early.Error, early.Denials)
		}
		must(t, row.end())
		r := <-done
		row.after()
		time.Sleep(50 * time.Millisecond) // what is put back is seen as late as what ends
		if !r.OK || row.request != "" && !deniedFor(r, row.request, row.reason) {
			t.Errorf("%s: %+v %+v", row.name, r.Error, r.Denials)
		}
	}
}

// BenchmarkReads is a call that reads a file many times; each read asks whether it is
// still allowed.
func BenchmarkReads(b *testing.B) {
	var log bytes.Buffer
	dir := realPath(b, b.TempDir())
	must(b, os.WriteFile(filepath.Join(dir, "data"), []byte("12345678"), 0o600))
	h, err := host.Open(b.Context(), options(b.TempDir(), &log))
	must(b, err)
	defer h.Close(b.Context())
	accept(b, h, reads(b, dir))
	call := runner.Call{Target: target(b, h, "reads"), Tool: "many", Caller: "human:ada"}
	for b.Loop() {
		if r := h.Parts().Runner.Run(b.Context(), call); !r.OK || len(r.Denials) > 0 {
			b.Fatalf("%+v %+v", r.Error, r.Denials)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/manyReads, "ns/read")
}

func deniedFor(r task.Result, request, reason string) bool {
	n := len(r.Denials)
	return n == 1 && r.Denials[0].Request == request && strings.Contains(r.Denials[0].Reason, reason)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func realPath(t testing.TB, p string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(p)
	must(t, err)
	return p
}
