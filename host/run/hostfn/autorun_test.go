package hostfn

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/policies"
)

// writings are all the ways in which a skill changes what is at a path: through the functions and through the
// file tree, as WASI has it. spare and full are a file and a directory with a file that may be moved.
func writings(t *testing.T, e *Env, spare, full string) map[string]func(p string) error {
	t.Helper()
	files, err := e.FS()
	must(t, err)
	write := func(more string) func(string) error {
		return func(p string) error {
			r := call(t, e, "fs_write", `{"path":`+quote(p)+more+`}`, []byte("x"))
			switch r.Error.Kind {
			case "":
				return nil
			case KindDenied:
				return ErrDenied
			}
			return errors.New(string(r.Meta))
		}
	}
	return map[string]func(p string) error{
		"fs_write":         write(""),
		"fs_write, append": write(`,"append":true`),
		"fs_write, new":    write(`,"create_only":true`),
		"open, create": func(p string) error {
			h, err := files.OpenFile(p, os.O_WRONLY|os.O_CREATE, 0o644)
			if err == nil {
				h.Close()
			}
			return err
		},
		"write whole": func(p string) error { return files.WriteFile(p, []byte("x"), 0o644) },
		"mkdir":       func(p string) error { return files.Mkdir(p, 0o755) },
		"move a file": func(p string) error { return files.Rename(spare, p) },
		"move a dir":  func(p string) error { return files.Rename(full, p) },
		"move away":   func(p string) error { return files.Rename(p, spare+"2") },
		"remove":      files.Remove,
		"truncate":    func(p string) error { return files.Truncate(p, 0) },
		"set times":   func(p string) error { return files.Chtimes(p, time.Now(), time.Now()) },
	}
}

func quote(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(field("p", s), `{"p":`), "}")
}

// Nothing that runs by itself is written, in any way there is.
func TestAutorunFilesAreNotWritten(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	must(t, os.MkdirAll(dir+"/full/hooks", 0o755))
	must(t, os.WriteFile(dir+"/full/hooks/pre-commit", nil, 0o755))
	s := settings(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**")
	s.Files = jail.Quota{Entries: 1 << 20}
	for _, row := range append(policies.Autoruns(), policies.Autorun{By: "git", Paths: []string{
		".git", ".git/config", ".git/hooks", ".git/hooks/pre-commit", ".git/info/attributes", ".git/modules/sub/config", ".git/worktrees/w/config.worktree",
		".git/commondir", ".git/refs/remotes/x/config", "HEAD", "x.git/HEAD",
	}}) {
		for _, p := range row.Paths {
			if strings.HasPrefix(p, "/") {
				continue // this test writes into its own directory only
			}
			p = dir + "/sub/" + strings.ReplaceAll(p, "*", "x")
			must(t, os.MkdirAll(path.Dir(p), 0o755))
			e := open(t, s)
			for how, write := range writings(t, e, dir+"/a.txt", dir+"/full") {
				if err := write(p); !errors.Is(err, ErrDenied) {
					t.Errorf("%s: %s: %s: %v", row.By, p, how, err)
				}
			}
			for _, d := range e.Denials() {
				if !slices.Contains(d.Policies, "no-autorun") && !slices.Contains(d.Policies, "no-credentials") {
					t.Errorf("%s: %+v", p, d)
				}
			}
		}
	}
	if _, err := os.Lstat(dir + "/full/hooks/pre-commit"); err != nil {
		t.Error(err)
	}
}

// What moves along with a directory is looked at under its new path, and what a link leads to by its own.
func TestAutorunFilesDoNotMoveIntoPlace(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	must(t, os.MkdirAll(dir+"/repo/.git/hooks", 0o755))
	must(t, os.Symlink("repo/.git", dir+"/link"))
	must(t, os.MkdirAll(dir+"/made/git/deep", 0o755))
	must(t, os.WriteFile(dir+"/made/git/deep/.bashrc", nil, 0o644))
	must(t, os.MkdirAll(dir+"/made/fish", 0o755))
	must(t, os.WriteFile(dir+"/made/fish/config.fish", nil, 0o644))
	e := env(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**")
	files, err := e.FS()
	must(t, err)
	for from, to := range map[string]string{"/made/git": "/moved", "/made": "/sub/.config", "/made/fish": "/sub/.vscode", "/repo": "/other"} {
		if err := files.Rename(dir+from, dir+to); !errors.Is(err, ErrDenied) {
			t.Errorf("moved %s to %s: %v", from, to, err)
		}
	}
	wantKind(t, "through a link", call(t, e, "fs_write", field("path", dir+"/link/config"), []byte("x")), KindDenied)
	wantKind(t, "through a link", call(t, e, "fs_write", field("path", dir+"/link/hooks/post-commit"), []byte("x")), KindDenied)
	wantKind(t, "data through a link", call(t, e, "fs_write", field("path", dir+"/link/index"), []byte("x")), "")
}

// repositoryLayouts are the files by which a directory becomes a repository, of which git takes commands; CONFIG
// stands for a configuration with a command.
var repositoryLayouts = map[string][][2]string{
	"bare":           {{"bare/HEAD", "ref: refs/heads/main\n"}, {"bare/objects/x", ""}, {"bare/refs/x", ""}, {"bare/config", "CONFIG"}},
	"bare, folded":   {{"bare/head", "ref: refs/heads/main\n"}, {"bare/objects/x", ""}, {"bare/refs/x", ""}, {"bare/Config", "CONFIG"}},
	"common":         {{"wt/.git/HEAD", "ref: refs/heads/main\n"}, {"wt/.git/commondir", "../../common\n"}, {"common/objects/x", ""}, {"common/refs/x", ""}, {"common/config", "CONFIG"}},
	"git file":       {{"gf/.git", "gitdir: ../elsewhere\n"}, {"elsewhere/HEAD", "ref: refs/heads/main\n"}, {"elsewhere/objects/x", ""}, {"elsewhere/refs/x", ""}, {"elsewhere/config", "CONFIG"}},
	"git directory":  {{"gd/.git/HEAD", "ref: refs/heads/main\n"}, {"gd/.git/objects/x", ""}, {"gd/.git/refs/x", ""}, {"gd/.git/config", "CONFIG"}},
	"below refs":     {{"repo/.git/refs/x/HEAD", "ref: refs/heads/main\n"}, {"repo/.git/refs/x/objects/x", ""}, {"repo/.git/refs/x/refs/x", ""}, {"repo/.git/refs/x/config", "CONFIG"}},
	"submodule":      {{"repo/.git/modules/sub/config", "CONFIG"}},
	"worktree":       {{"repo/.git/config.worktree", "CONFIG"}},
	"separate":       {{"separate/config", "CONFIG"}},
	"own repository": {{"repo/.git/config", "CONFIG"}},
	"person's bare":  {{"person.git/config", "CONFIG"}, {"person.git/hooks/post-index-change", "HOOK"}},
}

// A skill with the most usual grant, and in every order of writing, has git run nothing when a person asks it for
// the state of what is there. Without the host the same files do have it run a command.
func TestGitRunsNothing(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	for name, layout := range repositoryLayouts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if ran(t, name, layout, func(_ *Env, p, text string) {
				must(t, os.MkdirAll(path.Dir(p), 0o755))
				must(t, os.WriteFile(p, []byte(text), 0o755))
			}) != (name != "bare, folded") {
				t.Error("the files alone: the test does not show what it is to show")
			}
			for _, order := range [][][2]string{layout, backwards(layout), slices.Concat(layout[1:], layout[:1])} {
				if ran(t, name, order, writeAsSkill) {
					t.Errorf("git ran a command: %v", order)
				}
			}
		})
	}
}

func backwards(l [][2]string) [][2]string {
	l = slices.Clone(l)
	slices.Reverse(l)
	return l
}

// writeAsSkill makes the directories above a file and writes it, as far as the host lets it.
func writeAsSkill(e *Env, p, text string) {
	files, err := e.FS()
	if err != nil {
		return
	}
	for i, c := range p {
		if c == '/' && i > 0 {
			files.Mkdir(p[:i], 0o755)
		}
	}
	files.WriteFile(p, []byte(text), 0o755)
	files.WriteFile(p+".new", []byte(text), 0o755)
	files.Rename(p+".new", p)
}

// ran writes files into a directory with repositories of a person's, asks git for the state of every directory there,
// and reports whether that ran the command of CONFIG.
func ran(t *testing.T, name string, layout [][2]string, write func(e *Env, p, text string)) bool {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "project")
	must(t, err)
	git(t, dir, "init", "-q", "repo")
	git(t, dir+"/repo", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
	git(t, dir+"/repo", "config", "extensions.worktreeConfig", "true")
	git(t, dir, "init", "-q", "--separate-git-dir", dir+"/separate", "apart")
	git(t, dir, "init", "-q", "--bare", "person.git")
	mark := dir + "/mark"
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = " + dir + "\n\tfsmonitor = \": > " + mark + "; false\"\n"
	if name == "submodule" { // as git leaves one
		must(t, os.MkdirAll(dir+"/repo/sub", 0o755))
		must(t, os.MkdirAll(dir+"/repo/.git/modules", 0o755))
		git(t, dir+"/repo/sub", "init", "-q", "--separate-git-dir", dir+"/repo/.git/modules/sub", ".")
	}
	e := env(t, "fs.read:"+dir+"/**", "fs.write:"+dir+"/**")
	for _, f := range layout {
		text := strings.NewReplacer("CONFIG", config, "HOOK", "#!/bin/sh\n: > "+mark+"\n").Replace(f[1])
		write(e, dir+"/"+f[0], text)
	}
	for _, at := range []string{"repo", "repo/sub", "apart", "separate", "person.git", "bare", "wt", "common", "gf", "gd", "elsewhere", "repo/.git/refs/x"} {
		if _, err := os.Stat(dir + "/" + at); err != nil {
			continue
		}
		for _, ask := range []string{"status", "log"} {
			c := exec.Command("git", ask)
			c.Dir, c.Env = dir+"/"+at, gitEnv(dir)
			c.Run() // not every directory is a repository
		}
	}
	_, err = os.Lstat(mark)
	return err == nil
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, gitEnv(dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func gitEnv(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir + "/nobody", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + path.Dir(dir)}
}
