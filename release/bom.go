package main

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials writes what is linked into the programs and skills (CycloneDX 1.6, JSON). It is what
// Go wrote into them, so that it lists neither too much nor too little.
func (r *release) billOfMaterials(dir string, programs []program, s *shelf) error {
	bom := cdx.NewBOM()
	main := component(debug.Module{Path: programs[0].info.Main.Path, Version: r.version})
	main.Type, main.BOMRef = cdx.ComponentTypeApplication, main.PackageURL
	bom.Metadata = &cdx.Metadata{Timestamp: r.made.Format(time.RFC3339), Component: &main}
	version := strings.TrimPrefix(programs[0].info.GoVersion, "go")
	all := []cdx.Component{{
		Type: cdx.ComponentTypePlatform, Name: "std", Version: version,
		BOMRef: "pkg:golang/std@" + version, PackageURL: "pkg:golang/std@" + version,
	}}
	for _, m := range linked(programs, s) {
		all = append(all, component(m))
	}
	needs := []string{}
	for _, c := range all {
		needs = append(needs, c.BOMRef)
	}
	bom.Components = &all
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	return create(filepath.Join(dir, "skillet_"+r.version+"_sbom.cdx.json"), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	})
}

// component describes a module. Its hash is that of go.sum, which is one of names and hashes
// of the files (golang.org/x/mod/sumdb/dirhash, Hash1) and so not the hash of one file: it is
// a property, in the form of go.sum and in hexadecimal digits.
func component(m debug.Module) cdx.Component {
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, BOMRef: purl, PackageURL: purl}
	if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
			c.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.Sum}, {Name: "go.sum.sha256", Value: hex.EncodeToString(raw)}}
		}
	}
	return c
}
