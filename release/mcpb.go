package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A bundleManifest is manifest.json of an MCP bundle, as its specification 0.3 has it: what a
// program such as Claude Desktop installs by a click, and starts.
type bundleManifest struct {
	ManifestVersion string       `json:"manifest_version"`
	Name            string       `json:"name"`
	DisplayName     string       `json:"display_name"`
	Version         string       `json:"version"`
	Description     string       `json:"description"`
	Author          bundleAuthor `json:"author"`
	Homepage        string       `json:"homepage"`
	License         string       `json:"license"`
	Server          bundleServer `json:"server"`
	// ToolsGenerated and PromptsGenerated: they are those of the skills that are installed.
	ToolsGenerated   bool                `json:"tools_generated"`
	PromptsGenerated bool                `json:"prompts_generated"`
	Compatibility    bundleCompatibility `json:"compatibility"`
}

type bundleAuthor struct {
	Name string `json:"name"`
}

type bundleServer struct {
	Type       string       `json:"type"`
	EntryPoint string       `json:"entry_point"`
	Config     bundleConfig `json:"mcp_config"`
}

type bundleConfig struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type bundleCompatibility struct {
	Platforms []string `json:"platforms"`
}

// What is said of the project where servers are listed. The description has at most 100
// characters.
const (
	about      = "Runs untrusted skills as WebAssembly modules that can do nothing they were not granted."
	homepage   = "https://github.com/skillet-run/skillet"
	serverName = "io.github.skillet-run/skillet"
	serverFile = "server.json"
	bundled    = ".mcpb"
)

// nodePlatforms are the names that the specification has for systems that have others.
var nodePlatforms = map[string]string{"windows": "win32"}

func (r *release) bundleManifest(p platform) bundleManifest {
	system := p.os
	if other, ok := nodePlatforms[system]; ok {
		system = other
	}
	entry := "server/" + p.program()
	return bundleManifest{
		ManifestVersion: "0.3", Name: "skillet", DisplayName: "Skillet", Version: strings.TrimPrefix(r.version, "v"), Description: about,
		Author: bundleAuthor{"The Skillet authors"}, Homepage: homepage, License: "Apache-2.0",
		Server:         bundleServer{"binary", entry, bundleConfig{"${__dirname}/" + entry, []string{"mcp"}}},
		ToolsGenerated: true, PromptsGenerated: true, Compatibility: bundleCompatibility{[]string{system}},
	}
}

// bundle writes the program as an MCP bundle: a .zip with a manifest that says how to start it.
func (r *release) bundle(dir string, p program, pages []page) error {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	manifest, err := json.MarshalIndent(r.bundleManifest(p.platform), "", "  ")
	if err != nil {
		return err
	}
	with := []page{{name: "manifest.json", text: append(manifest, '\n')}}
	for _, g := range pages {
		if strings.HasPrefix(g.installed, installedSkills) { // beside the program
			g.name = "server/" + g.name
		} else if !slices.Contains([]string{"LICENSE", "LICENCES.txt"}, g.name) {
			continue
		}
		with = append(with, g)
	}
	return create(filepath.Join(dir, r.name(p.platform, bundled)), func(w io.Writer) error {
		return r.zip(w, "server/"+p.program(), text, with)
	})
}

// A serverEntry is server.json, which the registry of MCP servers takes, by its schema of
// 2025-12-11.
type serverEntry struct {
	Schema      string           `json:"$schema"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Version     string           `json:"version"`
	WebsiteURL  string           `json:"websiteUrl"`
	Repository  serverRepository `json:"repository"`
	Packages    []serverPackage  `json:"packages"`
}

type serverRepository struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

type serverPackage struct {
	RegistryType string          `json:"registryType"`
	Identifier   string          `json:"identifier"`
	FileSHA256   string          `json:"fileSha256"`
	Transport    serverTransport `json:"transport"`
}

type serverTransport struct {
	Type string `json:"type"`
}

// serverEntry writes server.json about the bundles in a directory, by where they are published.
func (r *release) serverEntry(dir string, programs []program) error {
	e := serverEntry{
		Schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		Name:   serverName, Title: "Skillet", Description: about, Version: strings.TrimPrefix(r.version, "v"), WebsiteURL: homepage,
		Repository: serverRepository{homepage, "github"},
	}
	for _, p := range programs {
		name := r.name(p.platform, bundled)
		sum, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		e.Packages = append(e.Packages, serverPackage{"mcpb", homepage + "/releases/download/" + r.version + "/" + name, fmt.Sprintf("%x", sum), serverTransport{"stdio"}})
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, serverFile), append(text, '\n'), 0o644)
}
