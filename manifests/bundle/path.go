package bundle

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/skillet-run/skillet/manifests"
)

// checkPath refuses a path that is not relative, clean and inside the package,
// or that means something else on another system: the same package must unpack
// to the same files everywhere, or nowhere.
func checkPath(p string) error {
	names := strings.Split(p, "/")
	switch {
	case p == "":
		return refuse(p, "has no name")
	case !utf8.ValidString(p):
		return refuse(p, "has a name that is not UTF-8")
	case len(p) > MaxPathBytes:
		return refuse(p, "has a name of %d bytes, at most %d are accepted", len(p), MaxPathBytes)
	case path.IsAbs(p):
		return refuse(p, "is an absolute path")
	case slices.Contains(names, ".."):
		return refuse(p, "leaves the package")
	case p != path.Clean(p):
		return refuse(p, "is not a clean path; it would be %q", path.Clean(p))
	case !filepath.IsLocal(p):
		return refuse(p, "is not a path inside the package")
	case len(names) > MaxPathDepth:
		return refuse(p, "is %d levels deep, at most %d are accepted", len(names), MaxPathDepth)
	case !norm.NFC.IsNormalString(p):
		return refuse(p, "has a name that is not in Unicode normalization form C")
	}
	for _, name := range names {
		if reason := badName(name); reason != "" {
			return refuse(p, "%s", reason)
		}
	}
	return nil
}

// badName says why a name is refused; empty when it is not.
func badName(name string) string {
	base, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch {
	case strings.HasPrefix(name, "."):
		return "is hidden: a name starts with a dot"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.HasPrefix(name, " "):
		return "has a name that starts or ends with a space, or ends with a dot"
	case strings.ContainsAny(name, `\:*?"<>|`):
		return `has a name with one of \ : * ? " < > |`
	case strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) >= 0:
		return "has a name with a character that cannot be seen"
	case slices.Contains(deviceNames(), base):
		return fmt.Sprintf("has the name of a device (%s) on some systems", base)
	}
	return ""
}

// deviceNames are the names that Windows takes for devices, with any
// extension.
func deviceNames() []string {
	return []string{
		"con", "prn", "aux", "nul", "conin$", "conout$",
		"com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
		"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
	}
}

// A nameSet refuses names that some file system takes for the same, and files
// that are directories of others.
type nameSet struct {
	files, dirs map[string]string // folded name to name
}

func newNameSet() *nameSet { return &nameSet{map[string]string{}, map[string]string{}} }

// fold returns what is equal for names that differ in case or spelling only.
func fold(p string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(p))) }

// addFile checks p and adds it and the directories it lies in.
func (s *nameSet) addFile(p string) error {
	if err := checkPath(p); err != nil {
		return err
	}
	key := fold(p)
	if other, ok := s.files[key]; ok {
		return refuse(p, "%s", sameAs(p, other))
	}
	if other, ok := s.dirs[key]; ok {
		return refuse(p, "is a file, and %q is a directory", other)
	}
	s.files[key] = p
	return s.addParents(p)
}

// addDir checks p and adds it.
func (s *nameSet) addDir(p string) error {
	if err := checkPath(p); err != nil {
		return err
	}
	return s.addParents(path.Join(p, "x"))
}

func (s *nameSet) addParents(p string) error {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		key := fold(dir)
		if other, ok := s.files[key]; ok {
			return refuse(dir, "is a directory, and %q is a file", other)
		}
		if other, ok := s.dirs[key]; ok && other != dir {
			return refuse(dir, "%s", sameAs(dir, other))
		}
		s.dirs[key] = dir
	}
	return nil
}

func sameAs(p, other string) string {
	if p == other {
		return "is there twice"
	}
	return fmt.Sprintf("has the same name as %q on some systems", other)
}

// contentDirs are the directories that are packed whole.
func contentDirs() []string { return []string{"assets", "references", "schemas", "scripts", "tests"} }

// topFiles are the files at the top of a package, apart from those a manifest
// names.
func topFiles() []string {
	return append(manifests.FileNames(), manifests.FileSkillMD, "README.md",
		"LICENSE", "LICENSE.md", "LICENSE.txt", "NOTICE", "NOTICE.md", "NOTICE.txt")
}

// namedFiles are the paths that m itself names. Some may not be files.
func namedFiles(m *manifests.Manifest) []string {
	var named []string
	if module, ok := modulePath(m); ok {
		named = append(named, module)
	} else if m.Type.IsPlugin() {
		named = append(named, programFiles(m)...)
	} else if !m.Type.IsMCP() {
		named = append(named, m.Args...)
	}
	named = append(named, m.License)
	return slices.DeleteFunc(named, func(p string) bool { return checkPath(p) != nil })
}

// programFiles are the files of a plugin's program, for each platform.
func programFiles(m *manifests.Manifest) []string {
	var files []string
	for _, p := range manifests.Platforms() {
		if program, ok := m.Program(p.OS, p.Arch); ok && !slices.Contains(files, program.File) {
			files = append(files, program.File)
		}
	}
	return files
}

// isFolder reports whether a package of m is a folder of the Agent Skills
// specification: all of it is packed, because its text may speak of any file.
func isFolder(m *manifests.Manifest) bool { return m.AgentSkill != nil }

// madeByTools are directories that nobody means to publish.
func madeByTools() []string { return []string{"node_modules", "__pycache__"} }

// belongs reports whether a package of m holds the file at p.
func belongs(p string, m *manifests.Manifest) bool {
	if isFolder(m) {
		return true
	}
	top, _, nested := strings.Cut(p, "/")
	if nested && slices.Contains(contentDirs(), top) {
		return true
	}
	return slices.Contains(topFiles(), p) || slices.Contains(namedFiles(m), p) || isSource(p, m)
}

// scriptEndings are the endings of files that a script may import, by language.
func scriptEndings() [][]string {
	return [][]string{{".py"}, {".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"}}
}

// isSource reports whether the file at p is of the language of the script that m
// runs, and lies beside the script or below: the script may import it.
func isSource(p string, m *manifests.Manifest) bool {
	if !m.Interpreted() || len(m.Args) == 0 {
		return false
	}
	main := path.Clean(m.Args[0])
	if dir := path.Dir(main); dir != "." && !strings.HasPrefix(p, dir+"/") {
		return false
	}
	return slices.ContainsFunc(scriptEndings(), func(endings []string) bool {
		return slices.Contains(endings, path.Ext(main)) && slices.Contains(endings, path.Ext(p))
	})
}
