package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// runCase is a script that is put into each folder: it runs a file of the folder as the
// command line would, and imports one that is a part of a module.
const runCase = `import importlib, os, runpy, sys
file = os.path.abspath(sys.argv.pop(1))
folder = os.path.dirname(file)
here, names = folder, [os.path.splitext(os.path.basename(file))[0]]
while os.path.exists(os.path.join(here, "__init__.py")) and os.path.basename(here) != "scripts":
    names.insert(0, os.path.basename(here))
    here = os.path.dirname(here)
if len(names) > 1:
    sys.path[0] = here
    module = importlib.import_module(".".join(names).removesuffix(".__init__"))
    print(*sorted(n for n in dir(module) if n[0] != "_"))
else:
    sys.path[0] = folder
    if folder == os.path.join(os.getcwd(), "scripts"):
        sys.path.insert(1, os.getcwd())
    sys.argv[0] = os.path.relpath(file)
    runpy.run_path(file, run_name="__main__")
`

// A skillCase is what a script of the collection is given: its arguments, files, and what of
// its files is looked at. A script without one is given nothing.
type skillCase struct {
	args    string
	files   map[string]string
	outputs []string
	random  bool // it draws identifiers at random: the number of lines is looked at
}

// The packages that the scripts may import here, by the engine that runs them: those of
// CPython are brought by the folders and are pure Python, the others come with the engine.
var skillPackages = map[string][]string{
	"cpython":        {"defusedxml", "pypdf", "openpyxl"},
	"cpython-office": {"defusedxml", "pypdf", "openpyxl", "lxml", "pillow", "PyYAML"},
}

// agentSkills runs every Python script of a collection of Agent Skills in the sandbox and
// with Python on this machine, and compares what comes of them.
func agentSkills(ctx context.Context, s *stage) error {
	if s.collection == "" {
		return errors.New("-collection names a directory of skills, such as skills of github.com/anthropics/skills")
	}
	home := os.Getenv("SKILLET_HOME") // one that has the engine saves its building
	if home == "" {
		home = filepath.Join(s.dir, "home")
	}
	packages, ok := skillPackages[s.engine]
	if !ok {
		return fmt.Errorf("-engine %s: there are cpython and cpython-office", s.engine)
	}
	vendor := filepath.Join(s.dir, "vendor")
	env := append(os.Environ(), "SKILLET_HOME="+home, "SKILLET_COMPILE_TIMEOUT_SECONDS=900", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+vendor)
	run := func(dir, name string, args ...string) (stdout, stderr []byte, code int) {
		c := exec.CommandContext(ctx, name, args...)
		c.Dir, c.Env = dir, env
		var out, text bytes.Buffer
		c.Stdout, c.Stderr = &out, &text
		if err := c.Run(); err != nil && c.ProcessState == nil {
			return nil, []byte(err.Error()), -1
		}
		return out.Bytes(), text.Bytes(), c.ProcessState.ExitCode()
	}
	if _, text, code := run(s.dir, "python3", append([]string{"-m", "pip", "install", "-q", "--only-binary=:all:", "--target", vendor}, packages...)...); code != 0 {
		return fmt.Errorf("pip: %s", text)
	}
	if _, text, code := run(s.dir, s.bin, "engine", "add", s.engine, "--yes"); code != 0 {
		return fmt.Errorf("engine add: %s", text)
	}
	right, all := 0, 0
	s.say("| script | here | CPython of this machine | why not |\n| --- | --- | --- | --- |")
	folders, err := filepath.Glob(filepath.Join(s.collection, "*", "SKILL.md"))
	if err != nil {
		return err
	}
	for _, f := range folders {
		name := filepath.Base(filepath.Dir(f))
		work := filepath.Join(s.dir, name)
		brought := error(nil)
		if s.engine == "cpython" {
			brought = os.CopyFS(filepath.Join(work, "vendor"), pureOnly{os.DirFS(vendor)})
		}
		if err := errors.Join(os.CopyFS(work, os.DirFS(filepath.Dir(f))), brought,
			os.MkdirAll(filepath.Join(work, "scripts"), 0o755), os.WriteFile(filepath.Join(work, "scripts", "prove_case.py"), []byte(runCase), 0o644)); err != nil {
			return err
		}
		for _, script := range pythonFiles(filepath.Dir(f)) {
			c := skillCases()[path.Join(name, script)]
			in := map[string]any{"args": append([]string{script}, strings.Fields(c.args)...), "outputs": append([]string{}, c.outputs...)}
			files := []map[string]any{}
			native, err := os.MkdirTemp(s.dir, "native")
			if err == nil {
				err = os.CopyFS(native, os.DirFS(work))
			}
			for at, text := range c.files {
				files = append(files, map[string]any{"path": at, "base64": []byte(text)})
				to := filepath.Join(native, at)
				err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644))
			}
			if err != nil {
				return err
			}
			in["files"] = files
			input, _ := json.Marshal(in)
			inputFile := filepath.Join(s.dir, "input.json")
			if err := os.WriteFile(inputFile, input, 0o600); err != nil {
				return err
			}
			wantOut, wantErr, wantCode := run(native, "python3", append([]string{"scripts/prove_case.py", script}, strings.Fields(c.args)...)...)
			out, text, _ := run(s.dir, s.bin, "run", "./"+name+":prove_case", "--input", "@"+inputFile, "--json", "--timeout", "120s", "--max-memory-mb", "192")
			var answer struct {
				Data struct {
					Stdout, Stderr string
					ExitCode       int `json:"exit_code"`
					Files          []struct {
						Path, Text string
						Base64     []byte
					}
				}
				Error struct{ Message string }
			}
			if err := json.Unmarshal(out, &answer); err != nil {
				return fmt.Errorf("%s: %s %s", script, out, text)
			}
			d := answer.Data
			same := answer.Error.Message == "" && d.ExitCode == wantCode &&
				(strings.ReplaceAll(d.Stdout, "/skills/"+name, native) == string(wantOut) || c.random && strings.Count(d.Stdout, "\n") == bytes.Count(wantOut, []byte("\n")))
			for _, file := range d.Files {
				b, err := os.ReadFile(filepath.Join(native, file.Path))
				same = same && err == nil && string(b) == file.Text+string(file.Base64)
			}
			same = same && (len(c.outputs) == 0 || len(d.Files) > 0)
			all++
			here, there, why := "no", fmt.Sprint("exit code ", wantCode), answer.Error.Message
			if why == "" {
				why = lastLine(d.Stderr, wantErr, wantCode)
			}
			if same && wantCode == 0 {
				right++
				here, why = "yes", ""
			} else if same {
				here = "the same"
			} else if why == "" {
				why = "another output"
			}
			s.say("| `%s` | %s | %s | %s |", path.Join(name, script), here, there, strings.ReplaceAll(why, "|", "\\|"))
		}
	}
	s.say("\n%d of %d with the result of CPython on this machine.", right, all)
	return nil
}

// lastLine is why a script failed: the last line that is not a note, of the sandbox or of this
// machine.
func lastLine(here string, there []byte, code int) string {
	lines := strings.Split(strings.TrimSpace(here), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); l != "" && !strings.HasPrefix(l, "note:") {
			return l
		}
	}
	if code != 0 {
		all := strings.Split(strings.TrimSpace(string(there)), "\n")
		return all[len(all)-1]
	}
	return ""
}

// pythonFiles are the Python files below a folder.
func pythonFiles(dir string) (all []string) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".py" {
			rel, _ := filepath.Rel(dir, p)
			all = append(all, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(all)
	return all
}

// pureOnly is what pip has installed without native code and what was compiled.
type pureOnly struct{ fs.FS }

// ReadDir leaves that out.
func (p pureOnly) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(p.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool {
		return e.Name() == "__pycache__" || e.Name() == "bin" || filepath.Ext(e.Name()) == ".so" || strings.HasPrefix(e.Name(), ".")
	}), err
}

const (
	wordType  = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	wordSpace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	relations = `<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
)

// document is the files of a small text document.
func document() map[string]string {
	return map[string]string{
		"[Content_Types].xml": `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="` + wordType + `document.main+xml"/></Types>`,
		"_rels/.rels":                  relations + `<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/_rels/document.xml.rels": relations + `</Relationships>`,
		"word/document.xml":            `<?xml version="1.0" encoding="UTF-8"?><w:document ` + wordSpace + `><w:body><w:p><w:r><w:t xml:space="preserve">one </w:t></w:r><w:r><w:t>two</w:t></w:r></w:p></w:body></w:document>`,
	}
}

// slides is the files of a presentation of one slide.
func slides() map[string]string {
	const p = `xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	const kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	return map[string]string{
		"[Content_Types].xml": `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/ppt/slides/slide1.xml" ContentType="application/vnd.openxmlformats-officedocument.presentationml.slide+xml"/></Types>`,
		"ppt/presentation.xml":              `<?xml version="1.0" encoding="UTF-8"?><p:presentation ` + p + `><p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels":   relations + `<Relationship Id="rId1" Type="` + kind + `slide" Target="slides/slide1.xml"/></Relationships>`,
		"ppt/slides/slide1.xml":             `<?xml version="1.0" encoding="UTF-8"?><p:sld ` + p + `/>`,
		"ppt/slides/_rels/slide1.xml.rels":  relations + `<Relationship Id="rId1" Type="` + kind + `slideLayout" Target="../slideLayouts/slideLayout1.xml"/></Relationships>`,
		"ppt/slides/slide9.xml":             `<?xml version="1.0" encoding="UTF-8"?><p:sld ` + p + `/>`,
		"ppt/slideLayouts/slideLayout1.xml": `<?xml version="1.0" encoding="UTF-8"?><p:sldLayout ` + p + `/>`,
	}
}

// below puts files into a directory.
func below(dir string, files map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range files {
		all[path.Join(dir, name)] = text
	}
	return all
}

// zipped is an archive of files.
func zipped(files map[string]string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// form is a PDF of one page with a text field.
func form() string {
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[4 0 R]/DA(/Helv 0 Tf 0 g)/DR<</Font<</Helv 5 0 R>>>>>>>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</Helv 5 0 R>>>>/Annots[4 0 R]>>",
		"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/TU(Name)/Rect[100 700 300 720]/P 3 0 R/DA(/Helv 12 Tf 0 g)/V()>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.String()
}

// picture is a PNG.
func picture() string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 200, 100))); err != nil {
		panic(err)
	}
	return b.String()
}

// skillCases are the inputs of scripts, by their paths in the collection.
func skillCases() map[string]skillCase {
	const boxes = `{"pages":[{"page_number":1,"pdf_width":612,"pdf_height":792}],"form_fields":[{"page_number":1,"description":"a","label_bounding_box":[10,10,50,30],` +
		`"entry_bounding_box":[60,10,100,30],"field_label":"a","entry_text":{"text":"x","font_size":14}}]}`
	grading := `{"summary":{"pass_rate":0.5,"passed":1,"failed":1,"total":2},"timing":{"total_duration_seconds":2.5},"expectations":[]}`
	runs := map[string]string{}
	for _, with := range []string{"with_skill", "without_skill"} {
		runs["bench/eval-1/"+with+"/run-1/grading.json"] = grading
	}
	all := map[string]skillCase{
		"skill-creator/scripts/aggregate_benchmark.py": {args: "bench -o out.json", files: runs},
		"skill-creator/scripts/generate_report.py": {args: "in.json", files: map[string]string{
			"in.json": `{"history":[{"iteration":1,"description":"d","train_results":[],"test_results":[],"train_passed":1,"train_total":2}],"original_description":"d","best_description":"d","best_score":"1/2","iterations_run":1}`}},
		"skill-creator/scripts/package_skill.py":        {args: "demo out", files: map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\n---\nDo it.\n"}},
		"skill-creator/scripts/quick_validate.py":       {args: "demo", files: map[string]string{"demo/SKILL.md": "---\nname: demo\ndescription: d\n---\nDo it.\n"}},
		"skill-creator/scripts/improve_description.py":  {args: "--help"},
		"skill-creator/scripts/run_eval.py":             {args: "--help"},
		"skill-creator/scripts/run_loop.py":             {args: "--help"},
		"skill-creator/eval-viewer/generate_review.py":  {args: "bench --static out.html", files: below("bench/eval-1/run-1/outputs", map[string]string{"a.txt": "text"})},
		"webapp-testing/scripts/with_server.py":         {args: "--help"},
		"mcp-builder/scripts/evaluation.py":             {args: "--help"},
		"docx/scripts/comment.py":                       {args: "doc 1 hello", files: below("doc", document()), random: true},
		"pptx/scripts/add_slide.py":                     {args: "deck slide1.xml", files: below("deck", slides()), outputs: []string{"deck/ppt/slides/*"}},
		"pptx/scripts/clean.py":                         {args: "deck", files: below("deck", slides()), outputs: []string{"deck/ppt/_rels"}},
		"pptx/scripts/thumbnail.py":                     {args: "deck.pptx", files: map[string]string{"deck.pptx": zipped(slides())}},
		"xlsx/scripts/recalc.py":                        {args: "none.xlsx"},
		"docx/scripts/accept_changes.py":                {args: "in.docx out.docx", files: map[string]string{"in.docx": zipped(document())}},
		"pdf/scripts/check_bounding_boxes.py":           {args: "fields.json", files: map[string]string{"fields.json": boxes}},
		"pdf/scripts/check_fillable_fields.py":          {args: "in.pdf", files: map[string]string{"in.pdf": form()}},
		"pdf/scripts/extract_form_field_info.py":        {args: "in.pdf out.json", files: map[string]string{"in.pdf": form()}, outputs: []string{"out.json"}},
		"pdf/scripts/extract_form_structure.py":         {args: "in.pdf out.json", files: map[string]string{"in.pdf": form()}},
		"pdf/scripts/convert_pdf_to_images.py":          {args: "in.pdf out", files: map[string]string{"in.pdf": form()}},
		"pdf/scripts/fill_fillable_fields.py":           {args: "in.pdf v.json out.pdf", files: map[string]string{"in.pdf": form(), "v.json": `[{"field_id":"name","description":"n","page":1,"value":"Ada"}]`}, outputs: []string{"out.pdf"}},
		"pdf/scripts/fill_pdf_form_with_annotations.py": {args: "in.pdf f.json out.pdf", files: map[string]string{"in.pdf": form(), "f.json": boxes}},
		"pdf/scripts/create_validation_image.py":        {args: "1 f.json in.png out.png", files: map[string]string{"f.json": boxes, "in.png": picture()}},
	}
	for _, skill := range []string{"docx", "pptx", "xlsx"} {
		at := skill + "/scripts/office/"
		all[at+"unpack.py"] = skillCase{args: "in.docx out", files: map[string]string{"in.docx": zipped(document())}, outputs: []string{"out"}}
		all[at+"pack.py"] = skillCase{args: "doc out.docx", files: below("doc", document())}
		all[at+"validate.py"] = skillCase{args: "in.docx", files: map[string]string{"in.docx": zipped(document())}}
	}
	return all
}
