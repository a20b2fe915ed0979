package script_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/skills/cpython/office"
)

// officeEngine is the package of the interpreter for documents, from the index or where it
// was kept.
var officeEngine = sync.OnceValues(func() (map[string][]byte, error) {
	h, err := cpythonHost()
	if err != nil {
		return nil, err
	}
	in, _ := script.Find("cpython-office")
	return script.Engine(context.Background(), h, fetcher(), in)
})

// officeTools are the runner and the interpreter, or the test is skipped.
func officeTools(t *testing.T) (*here, script.Interpreter, map[string][]byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("to link and to compile CPython takes long; make test LONG=1 runs it")
	}
	h, err := cpythonHost()
	if err != nil {
		t.Fatal(err)
	}
	files, err := officeEngine()
	if err != nil {
		t.Skipf("no engine: %v", err)
	}
	in, _ := script.Find("cpython-office")
	return h, in, files
}

// officeEval runs a script with the interpreter's own tool.
func officeEval(t *testing.T, h *here, wasm []byte, code string) (string, error) {
	t.Helper()
	input, _ := json.Marshal(map[string]string{"code": code})
	r, err := h.Run(context.Background(), wasm, sandbox.Call{
		Export: "eval", Input: input, Limits: sandbox.Limits{MemoryBytes: 128 << 20}, Scratch: 16 << 20, Env: hostfn.NewEnv(hostfn.Settings{}),
	})
	return string(r.Output), err
}

// The code that is built is that whose digest is known, and its package has what it needs.
func TestOfficePackage(t *testing.T) {
	_, _, files := officeTools(t)
	if got := wasmbin.CodeDigest(files[script.ModuleFile]); len(office.CodeDigests()) != 1 || got != office.CodeDigests()[0] {
		t.Errorf("the code has the digest %s, known are %q", got, office.CodeDigests())
	}
	text := string(files["assets/LICENSE-engine.txt"])
	for _, want := range []string{"Apache License", "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "libxml2", "lxml", "Pillow", "openpyxl", "bzip2"} {
		if !strings.Contains(text, want) {
			t.Errorf("the texts of the licences do not have %q", want)
		}
	}
}

func TestOfficeEval(t *testing.T) {
	h, _, files := officeTools(t)
	wasm := files[script.ModuleFile]
	for code, want := range map[string]string{
		"1 + 2":                                  "3",
		"import sys\nlist(sys.version_info[:2])": "[3, 15]",
		"import lxml.etree as e\ne.fromstring('<a><b c=\"1\"/><b c=\"2\"/></a>').xpath('//b/@c')":         `["1", "2"]`,
		"import lxml.etree as e\ntry: e.fromstring('<a>')\nexcept e.XMLSyntaxError as x: r = x.lineno\nr": "1",
		"import lxml.etree as e\nstr(e.XSLT(e.XML('<x:stylesheet version=\"1.0\" xmlns:x=\"http://www.w3.org/1999/XSL/Transform\"><x:output method=\"text\"/><x:template match=\"a\">[<x:value-of select=\".\"/>]</x:template></x:stylesheet>'))(e.XML('<a>t</a>')))": `"[t]"`,
		"import io, PIL.Image as i\nb = io.BytesIO()\ni.new('RGB', (40, 40), 'red').resize((4, 2)).save(b, 'PNG')\nim = i.open(b)\n[im.size, im.getpixel((1, 1))]":                                                                                                    "[[4, 2], [255, 0, 0]]",
		"import io, openpyxl\nw = openpyxl.Workbook()\nw.active['A1'] = 42\nb = io.BytesIO()\nw.save(b)\nopenpyxl.load_workbook(b).active['A1'].value":                                                                                                                "42",
		"import io, pypdf\nw = pypdf.PdfWriter()\nw.add_blank_page(72, 72)\nb = io.BytesIO()\nw.write(b)\nlen(pypdf.PdfReader(b).pages)":                                                                                                                              "1",
		"import yaml\nyaml.safe_load('a: [1, x]')":                                               `{"a": [1, "x"]}`,
		"import tempfile, os\nwith tempfile.TemporaryDirectory() as d: r = os.listdir(d)\nr":     "[]",
		"import lzma, bz2, zlib, sqlite3\nlen(lzma.decompress(lzma.compress(b'abc', preset=0)))": "3",
	} {
		if got, err := officeEval(t, h, wasm, code); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", code, got, err, want)
		}
	}
}

// What a script tries to get out is refused, or ends within the limits of the call.
func TestOfficeStaysInside(t *testing.T) {
	h, _, files := officeTools(t)
	wasm := files[script.ModuleFile]
	for code, want := range map[string]string{
		"import ctypes":                                            "there is no native code here to call",
		"import numpy":                                             "which this interpreter cannot load",
		"import os\nos.system('id')":                               "no programs can be started here",
		"import subprocess\nsubprocess.run(['id'])":                "no programs can be started here",
		"import socket\nsocket.socket()":                           "there are no sockets here",
		"import threading\nthreading.Thread(target=print).start()": "there are no threads here",
		"open('/etc/passwd')":                                      "No such file or directory",
		"open('/usr/local/lib/python315.zip', 'r+b')":              "Read-only file system",
		"import os\nos.unlink('/usr/local/lib/python315.zip')":     "No such file or directory",
		"import os\nos.listdir('/')":                               "No such file or directory",
		"import lxml.etree as e\ne.parse('file:///etc/passwd')":    "failed to load",
		"import lxml.etree as e\ne.parse('http://127.0.0.1/')":     "failed to load",
		"bytearray(1 << 30)":                                       "MemoryError",
		"import _imp, types\n_imp.create_dynamic(types.SimpleNamespace(name='a', origin='/tmp/a.so'))":                                                                                                             "dlopen not implemented",
		"import lxml.etree as e\nt = '<!DOCTYPE a [<!ENTITY b \"' + 'x' * 1000 + '\">' + ''.join(f'<!ENTITY b{i} \"' + f'&b{i-1 or \"\"};' * 100 + '\">' for i in range(1, 9)) + ']><a>&b8;</a>'\ne.fromstring(t)": "XMLSyntaxError",
	} {
		if got, err := officeEval(t, h, wasm, code); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %s, %v, want %q", code, got, err, want)
		}
	}
	if got, err := officeEval(t, h, wasm, "import os\nfds = [os.open('/usr/local/lib/python315.zip', os.O_RDONLY) for _ in range(4)]\nos.lseek(fds[1], -22, 2)\n[os.read(fds[0], 2).decode(), os.read(fds[1], 2).decode(), os.pread(fds[2], 2, 2).hex(), len(os.read(fds[1], 99))]"); err != nil || got != `["PK", "PK", "0304", 20]` && !strings.HasPrefix(got, `["PK", "PK", `) {
		t.Errorf("the library as a file: %s, %v", got, err)
	}
	if got, err := officeEval(t, h, wasm, "import os\nfor _ in range(5): os.open('/usr/local/lib/python315.zip', os.O_RDONLY)"); err == nil || !strings.Contains(err.Error(), "Too many open files") && !strings.Contains(err.Error(), "No file descriptors") {
		t.Errorf("a fifth time: %s, %v", got, err)
	}
}

// Each call starts from the same state, and random numbers follow the call.
func TestOfficeCallsAreFresh(t *testing.T) {
	h, in, files := officeTools(t)
	wasm, err := script.Build(context.Background(), h, in, files[script.ModuleFile], script.Source{Main: "main.py", Files: script.Tree{
		"main.py": []byte("import random, lxml.etree\nseen = []\ndef run(x):\n    seen.append(x)\n    return [seen, lxml.etree.tostring(lxml.etree.Element('a')).decode(), random.random()]\n"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	call := func(random bool) string {
		r, err := h.Run(context.Background(), wasm, sandbox.Call{
			Export: "run", Input: []byte("1"), Random: random, Limits: sandbox.Limits{MemoryBytes: 128 << 20}, Env: hostfn.NewEnv(hostfn.Settings{}),
		})
		if err != nil || !strings.HasPrefix(string(r.Output), `[[1], "<a/>", `) {
			t.Errorf("%s, %v", r.Output, err)
		}
		return string(r.Output)
	}
	if a, b := call(false), call(false); a != b {
		t.Error("two calls without randomness differ")
	}
	if a, b := call(true), call(true); a == b {
		t.Error("two calls with randomness are the same")
	}
}
