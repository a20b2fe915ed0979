package policies

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
)

// autorunPaths are paths that each row of the table is about: as they are, in
// other letters, below, and as file systems that do not store the end of a name
// take them.
func autorunPaths() []string {
	var all []string
	for _, row := range Autoruns() {
		for _, p := range row.Paths {
			p = strings.ReplaceAll(p, "*", "x")
			if !strings.HasPrefix(p, "/") {
				all = append(all, "/"+p)
				p = "/home/me/deep/" + p
			}
			all = append(all, p, p+"/below/it", strings.ToUpper(p), p+". .", p+"::$INDEX_ALLOCATION", p[:len(p)-1]+"\u200d"+p[len(p)-1:])
		}
	}
	return all
}

// repositoryPaths are files of repositories that lead git to commands, or make
// a repository of a directory.
var repositoryPaths = []string{
	"/p/.git", "/p/.git/config", "/p/.git/config.lock", "/p/.git/config.worktree", "/p/.git/hooks", "/p/.git/hooks/pre-commit", "/p/.git/info/attributes",
	"/p/.git/commondir", "/p/.git/gitdir", "/p/.git/modules/sub/config", "/p/.git/modules/sub/hooks/post-checkout", "/p/.git/modules/a/modules/b/config",
	"/p/.git/worktrees/w/config.worktree", "/p/.git/worktrees/w/commondir", "/p/.git/rebase-merge/git-rebase-todo", "/p/.git/anything",
	"/p/.git/refs/remotes/x/config", "/p/.git/logs/config", "/p/.git/logs/hooks/pre-commit", "/p/.git/refs/heads/commondir", "/p/.git/index/x",
	"/p/.git/objects/x/.git/config", "/p/.git./config", "/p/.GIT/CONFIG", "/p/.g\u200cit/config", "/p/.git /hooks/x", "/p/GIT~1/config",
	"/p/.gi\ufe0ft/config", "/p/.g\u034fit/hooks/x", "/p/HE\u3164AD", "/home/me/.pro\ufb01le", "/home/me/.con\ufb01g/autostart/x.desktop", "/p/.ba\u017fhrc",
	"/home/me/.\u00dfh/authorized_keys", "/home/me/.\u1e9eh/rc", "/p/.git::$INDEX_ALLOCATION/config", "/p/sub/.git", "/p/x.git/HEAD", "/p/HEAD", "/p/HEAD.", "/p/HE\u200bAD", "/p/HEAD::$DATA",
}

// startPaths are files by which an attacker got out, or tried to: the table must know them.
var startPaths = []string{
	"/p/.repo/repo/main.py", "/p/_darcs/prefs/defaults", "/p/.pijul/config", "/p/_MTN/monotonerc", "/p/.vs/app/v17/.suo", "/p/.externalToolBuilders/x.launch",
	"/p/.config/mise.toml", "/p/mise/config.toml", "/p/mise.dev.toml", "/p/.mise.dev.local.toml", "/p/.config/mise.dev.toml", "/p/.shadowenv.d/500_x.lisp",
	"/p/rust-toolchain.toml", "/p/.bazeliskrc", "/p/.RData", "/home/me/.bashrc.d/x.sh", "/home/me/.zshrc.local", "/home/me/.cargo/env", "/home/me/.nvm/nvm.sh",
	"/home/me/.fzf.bash", "/home/me/.selected_editor", "/home/me/.config/user-dirs.dirs", "/home/me/.asoundrc", "/home/me/.config/pipewire/pipewire.conf",
	"/home/me/.local/share/gh/extensions/gh-x/gh-x", "/home/me/.bash_logout", "/home/me/.config/environment.d/x.conf", "/home/me/.pam_environment",
}

// harmlessPaths are files that people have skills write.
var harmlessPaths = []string{
	"/p/main.go", "/p/Makefile", "/p/package.json", "/p/.gitignore", "/p/.gitattributes", "/p/.gitmodules", "/p/.github/workflows/ci.yml",
	"/p/.editorconfig", "/p/.env", "/p/.svn/wc.db", "/p/mise/config.go", "/p/.nvmrc", "/p/.python-version", "/p/.github/copilot-instructions.md", "/p/straße/fiﬁ.txt", "/p/weights.pth", "/p/bin/head", "/p/head", "/p/config", "/p/config/app.yaml", "/p/hooks/useState.ts", "/p/info/x",
	"/p/HEAD.md", "/p/HEADER", "/p/CLAUDE.md", "/p/AGENTS.md", "/p/conftest.py", "/p/tmux.conf", "/p/profile", "/p/git/config", "/p/.git.md", "/p/...",
	"/home/me/.config/app/settings.json", "/home/me/.local/share/app/data", "/home/me/.cargo/registry/x", "/etc/hosts", "/p/etc/cron.d/x",
	"/p/.git/objects/ab/cdef", "/p/.git/objects/info/commit-graph", "/p/.git/refs/heads/main", "/p/.git/refs/remotes/origin/HEAD", "/p/.git/logs/HEAD",
	"/p/.git/HEAD", "/p/.git/HEAD.lock", "/p/.git/index", "/p/.git/index.lock", "/p/.git/packed-refs", "/p/.git/COMMIT_EDITMSG", "/p/.git/ORIG_HEAD",
}

// Nothing that runs by itself is written by a skill, whatever it was granted;
// the files of every day are.
func TestAutorun(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, "")
	decide := func(action capability.Action, p string) Decision {
		return s.Decide(Query{
			Principal: Principal{Skill: "test", Origin: OriginUser}, Home: "/nowhere/.skillet", Granted: true, GrantedBy: "fs.write:/**", Approved: true,
			Request: capability.Request{Action: action, Resource: p},
		})
	}
	for _, p := range slices.Concat(autorunPaths(), repositoryPaths, startPaths) {
		if d := decide(capability.FSWrite, p); d.Effect != Deny || !slices.Contains(d.Policies, "no-autorun") && !slices.Contains(d.Policies, "no-credentials") {
			t.Errorf("write %q: %s", p, Explain(d))
		}
	}
	for _, p := range harmlessPaths {
		if d := decide(capability.FSWrite, p); d.Effect != Allow {
			t.Errorf("write %q: %s", p, Explain(d))
		}
	}
	for _, p := range []string{"/home/me/.bashrc", "/p/.git/config", "/p/.vscode/tasks.json", "/p/x.git/HEAD"} {
		if d := decide(capability.FSRead, p); d.Effect != Allow {
			t.Errorf("read %q: %s", p, Explain(d))
		}
	}
}

// No path of the table is there twice, or could not match.
func TestAutorunTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range Autoruns() {
		for _, p := range row.Paths {
			if seen[p] || p != Fold(p) || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "?[") || strings.Contains(p, "**") {
				t.Errorf("%s: %q", row.By, p)
			}
			seen[p] = true
		}
	}
}

// The page has the table as it is.
func TestAutorunPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range Autoruns() {
		line := "| " + row.By + " | `" + strings.Join(row.Paths, "` `") + "` |\n"
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/policies.md has no line\n%s", line)
		}
	}
}
