package casetest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
)

func TestOutputs(t *testing.T) {
	t.Parallel()
	wantAll(t, outcomes(t, open(t), "tests/a.yaml", `
- {name: subset, tool: echo, input: {a: 1, b: [1, 2]}, expect: {a: 1}}
- {name: another value, tool: echo, input: {a: 1}, expect: {a: 2}}
- {name: another list, tool: echo, input: {b: [1, 2]}, expect: {b: [1]}}
- {name: exact, tool: echo, input: {a: 1}, expect_exact: {a: 1}}
- {name: not exact, tool: echo, input: {a: 1, b: 2}, expect_exact: {a: 1}}
- {name: text, tool: echo, input_text: "x\ny\n", expect_text: "x\ny\n"}
- {name: another text, tool: echo, input_text: "x\ny\n", expect_text: "x\nz\n"}
- {name: text that fits, tool: echo, input_text: "hello", expect_text: {$regex: "^h"}}
- {name: bytes, tool: echo, input_base64: AAEC, expect_base64: AAEC}
- {name: other bytes, tool: echo, input_base64: /wEC, expect_base64: /wED}
- {name: a file, tool: echo, input_file: tests/data/in.json, expect_file: tests/data/out.json}
- {name: another file, tool: echo, input: {a: 1}, expect_file: tests/data/out.json}
- {name: no file, tool: echo, input: {a: 1}, expect_file: tests/data/none.json}
- {name: a schema, tool: echo, input: 3, expect_schema: {type: integer}}
- {name: another schema, tool: echo, input: x, expect_schema: {type: integer}}
- {name: no json, tool: echo, input_text: "{", expect: {}}
- {name: placeholders, tool: echo, input: {at: "${workspace}/a", to: "${server}/b"}, expect: {at: "${workspace}/a", to: {$regex: "^http://"}}}
`, map[string]string{"tests/data/in.json": `{"a": 7}`, "tests/data/out.json": "{\n  \"a\": 7.0\n}\n"}), map[string]string{
		"another value":  "output.a: expected 2, got 1",
		"another list":   "output.b[1]: expected no such item, got 2",
		"not exact":      "output.b: expected no such member, got 2",
		"another text":   "-z",
		"other bytes":    "base64 /wEC",
		"another file":   "output.a: expected 7.0, got 1",
		"no file":        "tests/data/none.json is not a file of the package",
		"another schema": "what fits the schema",
		"no json":        "expected JSON",
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	wantAll(t, outcomes(t, open(t), "tests/a.yaml", `
- {name: the skill's kind, tool: fail, error_kind: not_found, error_message: nothing here}
- {name: the host's kind, tool: fail, error_kind: skill, error_message: {$contains: here}}
- {name: another kind, tool: fail, error_kind: denied}
- {name: another message, tool: fail, error_kind: not_found, error_message: all here}
- {name: only a message, tool: fail, error_message: nothing here}
- {name: crashes, tool: crash, error_kind: skill}
- {name: should answer, tool: crash, expect: {}}
- {name: should fail, tool: echo, input: {}, error_kind: skill}
- {name: never ends, tool: endless, error_kind: limit}
- {name: no such tool, tool: other, error_kind: not_found}
- {name: no tool, error_kind: usage}
`, nil), map[string]string{
		"another kind":    "error_kind: expected denied, got not_found: nothing here",
		"another message": "all here",
		"should answer":   "expected none",
		"should fail":     "the answer {}",
	})
}

func TestStage(t *testing.T) {
	t.Parallel()
	wantAll(t, outcomes(t, open(t), "tests/a.yaml", `
- {name: reads, tool: fs_read_body, input: {path: a.txt}, files: {a.txt: hello}, grants: ["fs.read:${workspace}/**"], expect_text: hello}
- {name: reads data, tool: fs_read_body, input: {path: "${workspace}/d/a.txt"}, files: {d/a.txt: {file: tests/data/x}}, grants: ["fs.read:${workspace}/**"], expect_text: x}
- {name: writes, tool: fs_write, input: {path: d/new.txt}, files: {d/a.txt: a, gone.txt: {base64: AA==}}, grants: ["fs.write:${workspace}/**"], expect: {size: 4},
   files_after: {d/new.txt: body, d/a.txt: a, none.txt: null}}
- {name: wrote something else, tool: fs_write, input: {path: new.txt}, grants: ["fs.write:${workspace}/**"], files_after: {new.txt: other, a.txt: x}}
- {name: wrote nothing, tool: echo, files: {a.txt: a}, files_after: {a.txt: null}}
- {name: is refused, tool: fs_read, input: {path: a.txt}, files: {a.txt: hello}, expect: {error: {kind: denied}}, denials: ["fs.read:${workspace}/a.txt"]}
- {name: is refused nothing, tool: fs_read, input: {path: a.txt}, files: {a.txt: hello}, denials: []}
- {name: is refused more, tool: echo, denials: [kv]}
- {name: keeps, tool: kv_put, input: {key: n}, grants: [kv], kv: {m: {json: {a: 1, b: 2}}}, kv_after: {n: body, m: {a: 1}, o: null}}
- {name: kept, tool: kv_get_body, input: {key: n}, grants: [kv], kv: {n: v}, expect_text: v}
- {name: keeps something else, tool: kv_put, input: {key: n}, grants: [kv], kv_after: {n: other, x: y}}
- {name: keeps too much, tool: kv_put, input: {key: n}, grants: [kv], kv_after: {n: null}}
- {name: begins with nothing, tool: kv_list, input: {}, grants: [kv], expect: {keys: []}}
- {name: has a secret, tool: secret_exists, input: {name: api}, grants: ["secret:api"], secrets: {api: made-up}, expect: {exists: true}}
- {name: has no secret, tool: secret_exists, input: {name: api}, grants: ["secret:api"], expect: {exists: false}}
- {name: notifies, tool: notify, input: {severity: warn, title: T}, grants: [notify], notifications: [{severity: warning, title: T, text: {$contains: od}}]}
- {name: notifies otherwise, tool: notify, input: {severity: warn, title: T}, grants: [notify], notifications: [{severity: info, title: U}]}
- {name: notifies nobody, tool: notify, input: {severity: warn, title: T}, grants: [notify], notifications: []}
- {name: logs, tool: log, input: {level: warn, fields: {a: b}}, logs: [{level: warn, message: body, fields: {a: b}}]}
- {name: logs text, tool: log, input: {level: info}, logs: [body]}
- {name: logs otherwise, tool: log, input: {level: info}, logs: [{level: warn}]}
`, map[string]string{"tests/data/x": "x"}), map[string]string{
		"wrote something else": "files_after.a.txt",
		"wrote nothing":        "no such file",
		"is refused nothing":   "denials: expected no other",
		"is refused more":      "denials[0]: expected kv, got not refused",
		"keeps something else": "kv_after.x",
		"keeps too much":       "no such key",
		"notifies otherwise":   "notifications[0].title",
		"notifies nobody":      "notifications: expected 0, got 1",
		"logs otherwise":       "logs[0]",
	})
}

func TestMocks(t *testing.T) {
	t.Parallel()
	wantAll(t, outcomes(t, open(t), "tests/a.yaml", `
- name: answers
  tool: http_request
  input: {url: "HTTPS://API.example.com:443/items?x=1"}
  grants: ["http:GET https://api.example.com/*"]
  mocks: [{http: {url: "https://api.example.com/items?x=1"}, respond: {status: 201, headers: {X: y}, json: {a: 1}}}]
  expect: {status: 201, url: "https://api.example.com/items?x=1", headers: {X: [y], Content-Type: [application/json]}}
- name: answers a body
  tool: http_request_body
  input: {url: "https://api.example.com/", method: POST, headers: {A: [b]}}
  grants: ["http:* https://api.example.com/*"]
  mocks:
    - {http: {method: POST, url: "https://api.example.com/", body: other}, respond: {body: x}, optional: true}
    - {http: {method: POST, url: "https://api.example.com/", headers: {a: b}, body: body}, respond: {body: y}}
  expect_text: y
- name: adds the made-up secret
  tool: http_request_body
  input: {url: "https://api.example.com/"}
  grants: ["http:GET https://api.example.com/*", "secret:api"]
  secrets: {api: made-up}
  mocks: [{http: {url: "https://api.example.com/", headers: {Authorization: Bearer made-up}}, respond: {body: "it was made-up"}}]
  expect_text: it was [secret]
- name: follows
  tool: http_request_body
  input: {url: "https://a.example.com/"}
  grants: ["http:GET https://a.example.com/*", "http:GET https://b.example.com/*"]
  mocks:
    - {http: {url: "https://a.example.com/"}, respond: {status: 302, headers: {Location: "https://b.example.com/x"}}}
    - {http: {url: "https://b.example.com/x"}, respond: {body: z}}
  expect_text: z
- name: does not follow
  tool: http_request
  input: {url: "https://a.example.com/"}
  grants: ["http:GET https://a.example.com/*"]
  mocks: [{http: {url: "https://a.example.com/"}, respond: {status: 302, headers: {Location: "https://b.example.com/x"}}}]
  expect: {error: {kind: denied}}
  denials: ["http:GET https://b.example.com/x"]
- name: is refused in spite of a mock
  tool: http_request
  input: {url: "https://a.example.com/"}
  mocks: [{http: {url: {$regex: example}}, respond: {}, optional: true}]
  expect: {error: {kind: denied}}
- name: fails as told
  tool: http_request
  input: {url: "https://a.example.com/"}
  grants: ["http:GET https://a.example.com/*"]
  mocks: [{http: {url: {$contains: example}}, error: {kind: timeout, message: too slow}}]
  expect: {error: {kind: timeout, message: too slow}}
- name: serves
  tool: http_request_body
  input: {url: "${server}/page"}
  grants: ["http:GET ${server}/*"]
  serve: {/page: {body: hello}}
  expect_text: hello
- name: serves no more
  tool: http_request
  input: {url: "${server}/other"}
  grants: ["http:GET ${server}/*"]
  serve: {/page: {body: hello}}
  expect: {status: 404}
- name: nothing answers
  tool: http_request
  input: {url: "https://a.example.com/x"}
  grants: ["http:GET https://a.example.com/*"]
  expect: {error: {kind: io, message: "no mock answers GET https://a.example.com/x"}}
- name: nobody asks
  tool: echo
  expect_text: ""
  mocks: [{http: {url: "https://a.example.com/"}, respond: {}}]
- name: asks once
  tool: http_request
  input: {url: "https://a.example.com/"}
  grants: ["http:GET https://a.example.com/*"]
  expect: {}
  mocks: [{http: {url: "https://a.example.com/"}, respond: {}, times: 2}]
- name: in sequence
  tool: http_request_body
  input: {url: "https://a.example.com/"}
  grants: ["http:GET https://a.example.com/*"]
  mock_order: sequence
  mocks:
    - {http: {url: "https://a.example.com/"}, respond: {status: 307, headers: {Location: /}}, times: 2}
    - {http: {url: "https://a.example.com/"}, respond: {body: third}}
  expect_text: third
- name: out of sequence
  tool: http_request
  input: {url: "https://a.example.com/"}
  grants: ["http:GET https://a.example.com/*"]
  mock_order: sequence
  mocks:
    - {http: {url: "https://b.example.com/"}, respond: {}}
    - {http: {url: "https://a.example.com/"}, respond: {}}
  expect: {}
- name: calls a skill
  tool: skill_call_body
  input: {skill: csv, tool: stats}
  grants: ["skill:csv"]
  mocks: [{call: skill_call, request: {skill: csv}, body: body, respond: {json: {n: 1}}}]
  expect: {n: 1}
- name: may not call a skill
  tool: skill_call
  input: {skill: csv}
  mocks: [{call: skill_call, respond: {}, optional: true}]
  expect: {error: {kind: denied}}
  denials: ["skill:csv"]
- name: asks a model
  tool: model_call
  input: {model: fast}
  grants: ["model:fast"]
  mocks: [{call: model_call, respond: {meta: {model: m1, finish_reason: stop}, body: hi}}]
  expect: {model: m1}
- name: no model answers
  tool: model_call
  input: {model: fast}
  grants: ["model:fast"]
  expect: {}
- name: a store that fails
  tool: kv_get
  input: {key: k}
  grants: [kv]
  mocks: [{call: kv_get, error: {kind: io, message: down}}]
  expect: {error: {kind: io, message: down}}
- name: a file that is not there
  tool: fs_read_body
  input: {path: a.txt}
  grants: ["fs.read:${workspace}/**"]
  mocks: [{call: fs_read, request: {path: a.txt}, respond: {meta: {size: 1}, body: A}}]
  expect_text: A
- name: no such function
  tool: echo
  expect: {}
  mocks: [{call: kv_gte, respond: {}}]
`, nil), map[string]string{
		"nothing answers":  "one that answers GET https://a.example.com/x",
		"nobody asks":      "asked never",
		"asks once":        "expected to be asked 2 times, got asked once",
		"out of sequence":  "one that answers GET https://a.example.com/",
		"no model answers": "one that answers model_call",
		"no such function": "did you mean kv_get?",
	})
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	all := outcomes(t, open(t), "tests/a.yaml", `
- {name: fuel, tool: echo, input: 1, expect: 1, max_fuel: 1000000}
- {name: too much fuel, tool: echo, input: 1, expect: 1, max_fuel: 1}
- {name: memory, tool: echo, input: 1, expect: 1, max_memory_mb: 4.5}
- {name: too much memory, tool: grow, max_memory_mb: 4.5, max_fuel: 1000000}
- {name: skipped, tool: crash, expect: 1, skip: not today}
`, nil)
	if r := all["skipped"]; r.Outcome != Skipped || r.Detail != "not today" {
		t.Errorf("%+v", r)
	}
	delete(all, "skipped")
	wantAll(t, all, map[string]string{"too much fuel": "fuel: expected at most 1, got ", "too much memory": "memory: expected at most 4.5 MB, got 10.25 MB"})
}

// TestSameEachTime demands that clock, randomness and cost are the same in every run.
func TestSameEachTime(t *testing.T) {
	t.Parallel()
	r := open(t)
	p := pack(t, map[string]string{"tests/a.yaml": `
- {name: fixed clock, tool: clock, grants: [clock], clock: "2026-05-01T09:00:00Z", expect_base64: QOKOwW1lqxg=}
- {name: no clock, tool: clock, expect_base64: QEIupnD8xRY=}
- {name: random, tool: random, grants: [random], expect: 1}
- {name: seeded, tool: random, grants: [random], seed: 7, expect: 1}
- {name: without a grant, tool: random, seed: 7, expect: 1}
- {name: workspace, tool: echo, input: "${workspace}", expect: 1}
`})
	var first []Result
	for i := range 3 {
		rep, err := r.Run(t.Context(), p, Options{Jobs: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = rep.Results
			if first[0].Outcome != Passed || first[1].Outcome != Passed {
				t.Errorf("clock: %s, %s", first[0].Detail, first[1].Detail)
			}
			if bytes.Equal(first[2].Output, first[3].Output) {
				t.Error("the seed does not matter")
			}
		}
		for j, x := range rep.Results {
			if x.Name != first[j].Name || x.Fuel != first[j].Fuel || !bytes.Equal(x.Output, first[j].Output) {
				t.Errorf("%s: %d fuel and %x, then %d and %x", x.Name, first[j].Fuel, first[j].Output, x.Fuel, x.Output)
			}
		}
	}
}

// TestNothingReal demands that no case reaches a file, a server, a value or a secret of
// the machine, whatever it grants itself.
func TestNothingReal(t *testing.T) {
	t.Parallel()
	r := open(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real.txt"), []byte("real"), 0o644); err != nil {
		t.Fatal(err)
	}
	var reached atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		io.WriteString(w, "real")
	}))
	defer s.Close()
	text := fmt.Sprintf(`
- {name: a file, tool: fs_read, input: {path: %[1]q}, grants: ["fs.read:/**"], expect: {error: {kind: {$any: true}}}}
- {name: a file by a link, tool: fs_read, input: {path: "../../../../../../../../%[2]s"}, grants: ["fs.read:/**", "fs.read:${workspace}/**"], expect: {error: {kind: {$any: true}}}}
- {name: writing a file, tool: fs_write, input: {path: %[1]q}, grants: ["fs.write:/**"], expect: {error: {kind: {$any: true}}}}
- {name: a server, tool: http_request, input: {url: %[3]q}, grants: ["http:* %[3]s/*"], expect: {error: {kind: io}}}
- name: a server by a redirect
  tool: http_request
  input: {url: "${server}/x"}
  grants: ["http:* %[3]s/*", "http:GET ${server}/*"]
  serve: {/x: {status: 302, headers: {Location: "%[3]s/y"}}}
  expect: {error: {kind: io}}
- {name: a value, tool: kv_get, input: {key: k}, grants: [kv], expect: {found: false}}
- {name: keeping a value, tool: kv_put, input: {key: k2}, grants: [kv], expect: {}}
- {name: a secret, tool: secret_exists, input: {name: api}, grants: ["secret:*"], expect: {exists: false}}
- name: a secret in a header
  tool: http_request
  input: {url: "https://api.example.com/"}
  grants: ["http:GET https://api.example.com/*", "secret:api"]
  mocks: [{http: {url: "https://api.example.com/", headers: {Authorization: {$contains: real}}}, respond: {}, optional: true}]
  expect: {error: {kind: {$any: true}}}
- {name: a notification, tool: notify, input: {severity: info, title: t}, grants: [notify], expect: {}}
- {name: a skill, tool: skill_call, input: {skill: csv}, grants: ["skill:*"], expect: {error: {kind: failed}}}
`, dir+"/real.txt", strings.TrimPrefix(dir, "/")+"/real.txt", s.URL)
	p := pack(t, map[string]string{"tests/a.yaml": text})
	who := policies.Principal{Skill: "probe", Digest: string(p.Digest()), Origin: policies.OriginPath}
	if err := hostfn.WriteState(t.Context(), r.kv, who, 0, map[string][]byte{"k": []byte("real")}); err != nil {
		t.Fatal(err)
	}
	before, _, err := r.calls.Head()
	if err != nil {
		t.Fatal(err)
	}
	rep, err := r.Run(t.Context(), p, Options{})
	if err != nil || len(rep.Problems) > 0 {
		t.Fatal(err, rep.Problems)
	}
	unanswered := map[string]bool{"a server": true, "a server by a redirect": true, "a secret in a header": true, "a skill": true}
	for _, x := range rep.Results {
		if text := strings.Join(x.Lines(), "; "); x.Outcome != Passed && !(unanswered[x.Name] && strings.HasPrefix(text, "mocks:")) && !strings.Contains(text, "the case has no secret") {
			t.Errorf("%s: %s", x.Name, text)
		}
		if strings.Contains(string(x.Output), "real\"") {
			t.Errorf("%s: %s", x.Name, x.Output)
		}
	}
	if b, err := os.ReadFile(dir + "/real.txt"); err != nil || string(b) != "real" || reached.Load() != 0 {
		t.Errorf("the file holds %q (%v), and the server was reached %d times", b, err, reached.Load())
	}
	kept, err := hostfn.ReadState(t.Context(), r.kv, who)
	if err != nil || len(kept) != 1 {
		t.Errorf("%q, %v", kept, err)
	}
	if after, _, err := r.calls.Head(); after != before || err != nil {
		t.Errorf("%d entries in the audit log, %v", after-before, err)
	}
}

// TestIsCleanAfterwards demands that nothing stays of a run.
func TestIsCleanAfterwards(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r := open(t)
	wantAll(t, outcomes(t, r, "tests/a.yaml", `[{name: x, tool: fs_write, input: {path: a}, files: {b/c: x}, grants: ["fs.write:${workspace}/**"], expect: {}}]`, nil), nil)
	found, err := filepath.Glob(dir + "/skillet-test-*")
	if err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}
}

func many(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(`{"name":"x","tool":"echo","input":1,"expect":1},`, n), ",") + "]"
}

func TestIsBounded(t *testing.T) {
	t.Parallel()
	r := open(t)
	p := pack(t, map[string]string{"tests/a.json": many(10_000), "tests/b.yaml": `[{name: endless, tool: endless, expect: 1}]`})
	rep, err := r.Run(t.Context(), p, Options{MaxCases: 20})
	if err != nil || len(rep.Results) != 20 || rep.Found != 10_001 || !strings.Contains(rep.Note, "9981 of 10001 cases were not run") {
		t.Errorf("%d of %d, %q, %v", len(rep.Results), rep.Found, rep.Note, err)
	}
	began := time.Now()
	rep, err = r.Run(t.Context(), p, Options{MaxTime: 200 * time.Millisecond})
	if err != nil || rep.Failed > 0 || len(rep.Results) == 10_001 || !strings.Contains(rep.Note, "were not run") || time.Since(began) > 30*time.Second {
		t.Errorf("%d results, %d failed, %q, %v", len(rep.Results), rep.Failed, rep.Note, err)
	}
	rep, err = r.Run(t.Context(), p, Options{Match: regexp.MustCompile("endless$")})
	if err != nil || len(rep.Results) != 1 || rep.Failed != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// TestMigration: data of an older schema version is brought to the new one, on the
// stage.
func TestMigration(t *testing.T) {
	t.Parallel()
	r := open(t)
	for migrate, want := range map[string]Outcome{"echo": Passed, "crash": Failed} {
		manifest := fmt.Sprintf(`{"name":"keeper","version":"2.0.0","description":"keeps","type":"code_inline","command":"main.wasm",
			"tools":[{"name":"kv_get_body"},{"name":%q}],"security":{"permissions":{"kv":{"reason":"r","schema_version":2,"migrate":%[1]q}}}}`, migrate)
		p, err := bundle.FromFiles(map[string][]byte{"skill.json": []byte(manifest), "main.wasm": guest(), "tests/a.yaml": []byte(
			`{name: x, tool: kv_get_body, input: {key: k}, grants: [kv], kv: {k: v}, kv_schema_version: 1, expect_text: v, kv_after: {k: v}}`)})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := r.Run(t.Context(), p, Options{})
		if err != nil || len(rep.Results) != 1 || rep.Results[0].Outcome != want {
			t.Errorf("%s: %+v, %v", migrate, rep, err)
		}
		if want == Failed && !strings.Contains(rep.Results[0].Detail, "from schema version 1 to 2") {
			t.Errorf("%s", rep.Results[0].Detail)
		}
	}
}

// TestSlowIsNotWrong: what only this run has no time for does not fail.
func TestSlowIsNotWrong(t *testing.T) {
	t.Parallel()
	r := open(t)
	p := packWith(t, 5_000_000_000, map[string]string{"tests/a.yaml": `
- {name: slow, tool: endless, expect: 1}
- {name: slow by itself, tool: endless, expect: 1, timeout: 0.05}
- {name: ends by time, tool: endless, error_kind: limit}
`})
	rep, err := r.Run(t.Context(), p, Options{MaxCaseTime: 100 * time.Millisecond})
	if err != nil || len(rep.Results) != 3 {
		t.Fatal(rep, err)
	}
	if got := fmt.Sprint(rep.Results[0].Outcome, rep.Results[1].Outcome, rep.Results[2].Outcome); got != "skippedfailedpassed" && got != "skipped failed passed" {
		t.Errorf("%s: %+v", got, rep.Results)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	rep, err := r.Run(ctx, pack(t, map[string]string{"tests/a.json": many(5000)}), Options{Done: func(Result) {
		if n++; n == 10 {
			cancel()
		}
	}})
	if err == nil || len(rep.Results) == 5000 || rep.Failed > 0 || !strings.Contains(rep.Note, "interrupted") {
		t.Errorf("%d results, %d failed, %q, %v", len(rep.Results), rep.Failed, rep.Note, err)
	}
}

// TestProblems demands that a file that cannot be read hides no other.
func TestProblems(t *testing.T) {
	t.Parallel()
	r := open(t)
	rep, err := r.Run(t.Context(), pack(t, map[string]string{
		"tests/a.json": "{", "tests/b.json": `{"name":"x","tool":"echo","input":1,"expect":1}`, "tests/data/c.json": "{",
		"tests/d.yaml": "- name: x\n  expct: 1\n", "tests/e.json": `"` + strings.Repeat("x", 1<<20) + `"`,
	}), Options{})
	if err != nil || len(rep.Results) != 1 || rep.Passed != 1 || len(rep.Problems) != 3 || rep.OK() {
		t.Fatalf("%+v, %v", rep, err)
	}
	if !strings.Contains(rep.Problems[1], "tests/d.yaml") || !strings.Contains(rep.Problems[1], "line 2: [0].expct: unknown field; did you mean expect?") {
		t.Errorf("%q", rep.Problems)
	}
}

// TestManyFiles demands that reading cases is bounded.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("tests/%02d.json", i)] = `{"name":"x","tool":"echo","input":"` + strings.Repeat("x", 1<<20-100) + `","expect":1}`
	}
	cases, problems := Cases(pack(t, files))
	if len(cases) != 4 || len(problems) != 1 {
		t.Errorf("%d cases, %v", len(cases), problems)
	}
}

// BenchmarkRead measures how long it takes to read 10,000 cases.
func BenchmarkRead(b *testing.B) {
	p := pack(b, map[string]string{"tests/a.json": many(10_000)})
	for b.Loop() {
		if cases, problems := Cases(p); len(cases) != 10_000 || len(problems) > 0 {
			b.Fatal(len(cases), problems)
		}
	}
}

// TestHugeGolden demands that a difference of two long texts is short, and found
// quickly.
func TestHugeGolden(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 200_000)
	all := outcomes(t, open(t), "tests/a.yaml", `[{name: x, tool: echo, input_file: tests/data/a.txt, expect_file: tests/data/b.txt}]`,
		map[string]string{"tests/data/a.txt": long + "a\n", "tests/data/b.txt": long + "b\n"})
	x := all["x"]
	if text := strings.Join(x.Lines(), "\n"); x.Outcome != Failed || len(text) > 2000 || !strings.Contains(text, "differ from line 200001, byte 1000000 on") {
		t.Errorf("%s: %s", x.Outcome, text)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	r := open(t)
	rep, err := r.Run(t.Context(), pack(t, map[string]string{
		"tests/a.yaml": "- {name: good <&>, tool: echo, input: 1, expect: 1}\n- {name: bad, tool: echo, input: 1, expect: 2}\n- {name: later, tool: echo, expect: 1, skip: why}\n",
		"tests/b.json": "{",
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteJUnit(&b, rep); err != nil {
		t.Fatal(err)
	}
	var back junitSuites
	if err := xml.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	s := back.Suites[0]
	if back.Tests != 4 || back.Failures != 1 || back.Errors != 1 || back.Skipped != 1 || s.Name != "probe/tests/a.yaml" || s.Cases[0].Name != "good <&>" ||
		!strings.Contains(s.Cases[1].Failure.Text, "expected 2") || s.Cases[2].Skipped.Message != "why" {
		t.Errorf("%s", b.Bytes())
	}
	if _, err := json.Marshal(rep); err != nil {
		t.Error(err)
	}
}

// TestJobs: as many jobs as one likes come to the same.
func TestJobs(t *testing.T) {
	t.Parallel()
	r := open(t)
	p := pack(t, map[string]string{"tests/a.json": many(50)})
	for _, jobs := range []int{0, 1, 8} {
		n := 0
		rep, err := r.Run(t.Context(), p, Options{Jobs: jobs, Done: func(Result) { n++ }})
		if err != nil || rep.Passed != 50 || n != 50 {
			t.Errorf("%d jobs: %d passed, %d told, %v", jobs, rep.Passed, n, err)
		}
	}
}

// BenchmarkCases measures how many cases are run in a second, each in a workspace, a
// store and a call of its own, in worker processes.
func BenchmarkCases(b *testing.B) {
	r := open(b)
	for name, file := range map[string]string{
		"plain": many(200),
		"mocks": "[" + strings.TrimSuffix(strings.Repeat(`{"name":"x","tool":"http_request","input":{"url":"https://a.example.com/"},"grants":["http:GET https://a.example.com/*"],
			"mocks":[{"http":{"url":"https://a.example.com/"},"respond":{"json":{"a":1}}}],"expect":{"status":200}},`, 200), ",") + "]",
	} {
		p := pack(b, map[string]string{"tests/a.json": file})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				rep, err := r.Run(b.Context(), p, Options{})
				if err != nil || rep.Passed != 200 {
					b.Fatal(rep.Note, rep.Results[0].Detail, err)
				}
			}
			b.ReportMetric(200*float64(b.N)/b.Elapsed().Seconds(), "cases/s")
		})
	}
}

// TestFewBytesMakeMany demands that a case cannot fill disk or memory by naming the
// same file of the package again and again, and that regular expressions of a few
// bytes cannot either.
func TestFewBytesMakeMany(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	r := open(t)
	large := strings.Repeat("x", 8<<20)
	for _, field := range []string{"files", "kv"} {
		var names []string
		for i := range 10_000 {
			names = append(names, fmt.Sprintf(`"f%d":{"file":"tests/data/x"}`, i))
		}
		text := fmt.Sprintf(`{"name":"x","tool":"echo","input":1,"expect":1,%q:{%s}}`, field, strings.Join(names, ","))
		rep, err := r.Run(t.Context(), pack(t, map[string]string{"tests/a.json": text, "tests/data/x": large}), Options{})
		if err != nil || len(rep.Results) != 1 || !strings.Contains(rep.Results[0].Detail, "more than 64 MB of files and values") {
			t.Errorf("%s: %+v, %v", field, rep, err)
		}
	}
	files := map[string]string{}
	for f := range 4 {
		var mocks []string
		for m := range 900 {
			mocks = append(mocks, fmt.Sprintf(`{"http":{"url":"http://a.test/","headers":{"a":{"$regex":"a{999}b{999}%d"},"b":{"$regex":"c{999}d{999}%d"}}},"respond":{},"optional":true}`, m, m))
		}
		files[fmt.Sprintf("tests/%d.json", f)] = `{"name":"x","tool":"echo","input":1,"expect":1,"mocks":[` + strings.Join(mocks, ",") + `]}`
	}
	cases, problems := Cases(pack(t, files))
	if len(cases) > 0 || len(problems) != 4 || !strings.Contains(problems[0].Error(), "the regular expressions of the file are too large together") {
		t.Errorf("%d cases, %.500v", len(cases), problems)
	}
	small := strings.Replace(many(1), `"expect":1`, `"expect":{"$one_of":[`+strings.TrimSuffix(strings.Repeat(`{"$regex":"a{999}b{999}"},`, 900), ",")+`]}`, 1)
	cases, problems = Cases(pack(t, map[string]string{"tests/a.json": small, "tests/b.json": small, "tests/c.json": small}))
	if len(cases) != 2 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "what follows is not read") {
		t.Errorf("%d cases, %.500v", len(cases), problems)
	}
}
