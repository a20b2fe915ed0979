package findings

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/review/findings/script"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

var codeRules = []Rule{
	{
		ID: "SK301", Title: "code made at run time", Severity: Warn,
		What: "A script runs text as code, or loads a module whose name is not a literal: eval, Function, exec, compile, import() and require() of something computed, modules of WebAssembly, pickle and marshal, and their kind.",
		Why:  "What will run cannot be read in the package. It can do no more than the skill is granted, but whoever approves it does not see it.",
		Do:   "Write the code itself. Data is read with a parser, such as JSON.parse or json.loads.",
	},
	{
		ID: "SK302", Title: "code that is unpacked and run", Severity: Block,
		What: "What a script runs as code is decoded right there: from base64, hexadecimal digits, character codes, or by decompressing.",
		Why:  "There is no reason to do so but to hide the code from whoever reads the script.",
		Do:   "Write the code itself.",
	},
	{
		ID: "SK303", Title: "long encoded literal", Severity: Warn,
		What: "A literal of a script is at least 400 characters of base64 or hexadecimal digits, and no picture or font.",
		Why:  "Nobody can read what it holds; it may be code or a program.",
		Do:   "Put data into a file in assets, in a format that tools can open, and code into the script.",
	},
	{
		ID: "SK304", Title: "script that is not meant to be read", Severity: Warn,
		What: "A line of a script has more than 2,000 characters, not counting long literals, and the package does not have the same script in a readable form (x.js beside x.min.js).",
		Why:  "A minified script cannot be reviewed.",
		Do:   "Put the source into the package beside it, or in its place.",
	},
	{
		ID: "SK305", Title: "names that are not meant to be read", Severity: Warn,
		What: "A script spells a name with escapes, or uses at least ten names like _0x3fa2.",
		Why:  "Names like that are made by tools that hide what a script does.",
		Do:   "Use the source, as it was before the tool.",
	},
	{
		ID: "SK306", Title: "program in the data", Severity: Warn,
		What: "A file, a data segment or a decoded literal begins like a program: ELF, Mach-O, PE, a WebAssembly module that is not the skill's own, or bytecode of Java or Python.",
		Why:  "A skill runs one module. Another program is there to be loaded or taken out by somebody else.",
		Do:   "Leave it out, or say in the README what it is for.",
	},
	{
		ID: "SK308", Title: "start of a process", Severity: Warn,
		What: "A script calls what starts other programs: subprocess, os.system, child_process and their kind.",
		Why:  "No skill can start a process, so this never works here. The script was written for somewhere else, or to try it.",
		Do:   "Leave it out. What other programs do is asked for as another skill.",
	},
	{
		ID: "SK309", Title: "source map outside of the package", Severity: Warn,
		What: "A comment of a script names a source map by an absolute path, by a path that leads out of the package, or by a URL other than data:.",
		Why:  "Tools that build a script open what such a comment names, with the rights of whoever builds. This host opens none, and elsewhere a secret of that person may come into what is built, or into its errors.",
		Do:   "Leave the comment out, or put the map into the package and name it relative to the script.",
	},
}

// scripts looks at the code of all scripts.
func (s *scan) scripts() {
	for _, f := range s.files {
		if f.role != roleScript || s.over() {
			continue
		}
		r := reading{scan: s, file: f, lang: script.LanguageOf(f.path)}
		for t := range script.Joined(r.lang, f.data) {
			r.take(t)
		}
		r.end()
		s.longLines(f)
		if r.lang == script.JavaScript {
			s.sourceMaps(f)
		}
	}
}

// mapComment begins a comment that names a source map, up to the name.
var mapComment = lazyregexp.New(`^/[/*][#@]\s*sourceMappingURL=\s*([^\s*]+)`)

// sourceMaps looks for source maps that lie outside of the package.
func (s *scan) sourceMaps(f *file) {
	for t := range script.Tokens(script.JavaScript, f.data) {
		if t.Kind != script.Comment {
			continue
		}
		m := mapComment().FindSubmatch(f.data[t.Start:t.End])
		if m != nil && leadsOut(f.path, string(m[1])) {
			s.add("SK309", f, t.Start, t.End-t.Start, fmt.Sprintf("it names %.60q", m[1]))
		}
	}
}

// leadsOut reports whether a URL in a file of the package names something outside.
func leadsOut(file, at string) bool {
	u, err := url.Parse(at)
	switch {
	case err != nil:
		return true
	case u.Scheme != "":
		return !strings.EqualFold(u.Scheme, "data")
	}
	name := strings.ReplaceAll(u.Path, `\`, "/")
	return u.Host != "" || path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(file), name)))
}

// A reading goes through the tokens of a script.
type reading struct {
	*scan
	file *file
	lang script.Language
	last [3]script.Token // the tokens before, the latest first
	// made is the place of the last code made at run time, and left how many
	// tokens of what it is made of are still looked at.
	made, left int
	odd        int // names like _0x3fa2
	oddAt      int
}

func (r *reading) take(t script.Token) {
	if r.computedModule(t) {
		r.makes(r.last[1].Start, t, r.last[1].Text+" of something that is not a literal")
	}
	switch t.Kind {
	case script.Name:
		r.name(t)
	case script.Literal:
		r.literal(t)
	default:
		r.call(t)
	}
	r.last = [3]script.Token{t, r.last[0], r.last[1]}
	r.left--
}

func (r *reading) end() {
	const many = 10
	if r.odd >= many {
		r.add("SK305", r.file, r.oddAt, 1, fmt.Sprintf("%d names like this one", r.odd))
	}
}

// is reports whether the token n before the current is a name or operator.
func (r *reading) is(n int, texts ...string) bool {
	return r.last[n].Kind != script.Literal && slices.Contains(texts, r.last[n].Text)
}

func (r *reading) name(t script.Token) {
	if t.Escaped {
		r.add("SK305", r.file, t.Start, t.End-t.Start, fmt.Sprintf("the name %q is written with escapes", t.Text))
	}
	if strings.HasPrefix(t.Text, "_0x") && len(t.Text) > 5 {
		if r.odd++; r.odd == 1 {
			r.oddAt = t.Start
		}
	}
	if r.left > 0 && slices.Contains(decoders, t.Text) {
		r.add("SK302", r.file, r.made, t.End-r.made, fmt.Sprintf("what runs is decoded by %s", t.Text))
		r.left = 0
	}
	if r.lang == script.JavaScript && t.Text == "eval" && !r.is(0, ".", "function") {
		r.makes(t.Start, t, "eval")
	}
}

// decoders are functions that turn unreadable text into something else.
var decoders = strings.Fields(`
	atob unescape decodeURIComponent fromCharCode fromCodePoint inflate inflateSync gunzipSync unzipSync
	b64decode b32decode b85decode a85decode urlsafe_b64decode standard_b64decode decodebytes unhexlify fromhex decompress`)

// makers are calls that run text as code, by language: the name before the
// bracket, and the name and dot before it, where that matters. An empty second
// name means that there is no dot.
var makers = []struct {
	lang     script.Language
	of, name string
}{
	{script.JavaScript, "", "Function"},
	{script.JavaScript, "vm", "runInThisContext"}, {script.JavaScript, "vm", "runInNewContext"}, {script.JavaScript, "vm", "runInContext"},
	{script.JavaScript, "vm", "compileFunction"}, {script.JavaScript, "vm", "Script"},
	{script.JavaScript, "WebAssembly", "compile"}, {script.JavaScript, "WebAssembly", "instantiate"}, {script.JavaScript, "WebAssembly", "Module"},
	{script.JavaScript, "std", "evalScript"}, {script.JavaScript, "std", "loadScript"},
	{script.JavaScript, "globalThis", "eval"}, {script.JavaScript, "window", "eval"}, {script.JavaScript, "self", "eval"},
	{script.JavaScript, "globalThis", "Function"}, {script.JavaScript, "window", "Function"},
	{script.Python, "", "eval"}, {script.Python, "", "exec"}, {script.Python, "", "compile"}, {script.Python, "", "__import__"}, {script.Python, "", "execfile"},
	{script.Python, "builtins", "eval"}, {script.Python, "builtins", "exec"}, {script.Python, "builtins", "compile"}, {script.Python, "builtins", "__import__"},
	{script.Python, "marshal", "loads"}, {script.Python, "pickle", "loads"}, {script.Python, "pickle", "load"}, {script.Python, "dill", "loads"},
	{script.Python, "types", "FunctionType"}, {script.Python, "types", "CodeType"}, {script.Python, "runpy", "run_path"}, {script.Python, "runpy", "run_module"},
	{script.Python, "codeop", "compile_command"}, {script.Python, "ctypes", "CDLL"},
}

// starters are calls that start a process.
var starters = []struct {
	lang     script.Language
	of, name string
}{
	{script.JavaScript, "child_process", "*"}, {script.JavaScript, "Deno", "run"}, {script.JavaScript, "Deno", "Command"},
	{script.JavaScript, "Bun", "spawn"}, {script.JavaScript, "os", "exec"},
	{script.Python, "subprocess", "*"}, {script.Python, "os", "system"}, {script.Python, "os", "popen"}, {script.Python, "os", "execv"},
	{script.Python, "os", "execve"}, {script.Python, "os", "spawnv"}, {script.Python, "os", "fork"}, {script.Python, "pty", "spawn"},
}

// call looks at what an opening bracket calls.
func (r *reading) call(t script.Token) {
	if t.Text != "(" || r.last[0].Kind != script.Name {
		return
	}
	name, of := r.last[0], ""
	if r.is(1, ".") && r.last[2].Kind == script.Name {
		of = r.last[2].Text
	} else if r.is(1, ".", "def", "function") {
		return
	}
	for _, m := range makers {
		if m.lang == r.lang && m.of == of && m.name == name.Text {
			r.makes(name.Start, t, strings.TrimPrefix(of+"."+name.Text, "."))
		}
	}
	for _, m := range starters {
		if m.lang == r.lang && m.of == of && (m.name == name.Text || m.name == "*") {
			r.add("SK308", r.file, r.last[2].Start, t.End-r.last[2].Start, fmt.Sprintf("it calls %s.%s", of, name.Text))
		}
	}
}

// makes keeps a finding about code made at run time, and looks at what follows.
func (r *reading) makes(at int, t script.Token, how string) {
	const far = 24 // tokens
	if r.made != at || r.left <= 0 {
		r.add("SK301", r.file, at, t.End-at, fmt.Sprintf("it runs text as code with %s", how))
	}
	r.made, r.left = at, far
}

// literal looks at a literal and at how it is used.
func (r *reading) literal(t script.Token) {
	switch {
	case r.lang == script.JavaScript && r.is(0, "(") && r.is(1, "setTimeout", "setInterval", "execScript"):
		r.makes(r.last[1].Start, t, r.last[1].Text+" of a text")
	case r.lang == script.JavaScript && r.is(0, "[") && slices.Contains([]string{"eval", "Function", "constructor"}, t.Text):
		r.makes(t.Start, t, fmt.Sprintf("[%q]", t.Text))
	case r.lang == script.JavaScript && r.is(0, "(") && r.is(1, "constructor"):
		r.makes(r.last[1].Start, t, "the constructor of functions")
	}
	r.encoded(t)
	r.reach.literal(r, t)
}

// encoded looks at a long literal of base64 or hexadecimal digits.
func (r *reading) encoded(t script.Token) {
	const long = 400
	data, ok := decode(t.Text)
	if !ok {
		return
	}
	if what := program(data); what != "" {
		r.add("SK306", r.file, t.Start, t.End-t.Start, fmt.Sprintf("the literal holds %s", what))
	}
	if len(t.Text) >= long && medium(data) == "" {
		r.add("SK303", r.file, t.Start, t.End-t.Start, fmt.Sprintf("a literal of %d characters holds %d bytes", len(t.Text), len(data)))
	}
}

// computedModule reports whether a module is loaded whose name is computed.
func (r *reading) computedModule(t script.Token) bool {
	return r.lang == script.JavaScript && r.is(0, "(") && (r.is(1, "import") || r.is(1, "require")) && !r.is(2, ".") && t.Kind != script.Literal
}

// longLines looks for lines nobody reads.
func (s *scan) longLines(f *file) {
	const long = 2000
	at := 0
	for line := range bytes.Lines(f.data) {
		if len(line) > long && len(line)-literals(f.path, line) > long {
			if !s.hasSource(f.path) {
				s.add("SK304", f, at, 1, fmt.Sprintf("a line of %d characters", len(line)))
			}
			return // one is enough
		}
		at += len(line)
	}
}

// literals counts the bytes of the long literals of a line.
func literals(path string, line []byte) int {
	n := 0
	for t := range script.Tokens(script.LanguageOf(path), line) {
		if t.Kind == script.Literal && t.End-t.Start > 100 {
			n += t.End - t.Start
		}
	}
	return n
}

// hasSource reports whether the package has a readable form of a minified
// script.
func (s *scan) hasSource(at string) bool {
	ext := path.Ext(at)
	base, minified := strings.CutSuffix(strings.TrimSuffix(at, ext), ".min")
	return minified && (s.file(base+ext) != nil || s.file(base+".ts") != nil)
}
