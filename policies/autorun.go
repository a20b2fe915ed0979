package policies

import (
	"path"
	"slices"
	"strings"
)

// An Autorun names files that a program runs, or takes commands from, without
// being told to: at login, at a prompt, when a directory is entered or opened,
// when its state is asked for. No skill writes them.
//
// What a person runs on purpose is not among them, such as a Makefile, the
// scripts of package.json, a test or a workflow. Nor is .gitattributes, which
// only names filters, nor .gitmodules, whose commands git refuses.
type Autorun struct {
	// By is what runs or reads the files, such as "git".
	By string
	// Paths are paths of files and directories; everything below one is meant,
	// too. One that begins with "/" is absolute, others are found in any
	// directory. A name may hold one "*", for any text. Case does not count.
	Paths []string
}

// autoruns is the table of the policy no-autorun. What lies in a directory
// .git, and files named HEAD, are decided by repositoryFile.
var autoruns = []Autorun{
	{"git", []string{".gitconfig", ".gitconfig-*", ".gitconfig.*", ".config/git", "/etc/gitconfig", ".githooks", ".husky",
		".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
		"lefthook-local.yml", ".lefthook", ".lefthook-local"}},
	{"another version control system", []string{".hg", ".hgrc", ".config/hg", "/etc/mercurial", ".jj", ".jjconfig.toml", ".config/jj",
		".sl", ".bzr", ".bazaar", ".subversion", "_darcs", ".darcs", ".pijul", ".config/pijul", "_mtn",
		".monotone", ".fossil-settings", ".repo", ".config/tig", ".tigrc", ".config/lazygit"}},
	{"a shell", []string{".profile", ".login", ".logout", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
		".bash_completion", ".bash_completion.d", ".bashrc.*", ".bashrc.d", ".bash_functions", ".profile.d", ".zshrc.*", ".zshrc.d",
		".zfunc", ".p10k.zsh", ".fzf.bash", ".fzf.zsh", ".zinit", ".zplug", ".zim", ".zimrc", ".zprezto", ".zpreztorc", ".antigen", ".antidote", ".bash_it",
		".oh-my-bash", ".cargo/env", ".nvm", ".rvm", ".rbenv", ".pyenv", ".nodenv", ".goenv", ".asdf", ".sdkman", ".ghcup", ".opam", ".nix-profile",
		".selected_editor", ".local/share/bash-completion", ".blerc", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".zlogout", ".zsh_aliases", ".zcompdump*", ".zsh", ".config/zsh", ".oh-my-zsh", ".kshrc", ".mkshrc", ".shrc", ".yashrc", ".yash_profile",
		".cshrc", ".tcshrc", ".config/fish", ".local/share/fish", ".config/nushell", ".config/elvish", ".elvish", ".xonshrc", ".config/xonsh",
		".config/powershell", "documents/powershell", "documents/windowspowershell", ".inputrc", ".config/readline", ".config/starship.toml",
		".local/bin", ".cargo/bin", "/etc/profile*", "/etc/bash*", "/etc/zsh*", "/etc/csh*", "/etc/fish", "/etc/environment",
		"/etc/inputrc", "/private/etc/profile*", "/private/etc/bash*", "/private/etc/zsh*"}},
	{"the shell when a directory is entered", []string{".envrc", ".direnv", ".config/direnv", ".autoenv", ".autoenv.zsh", ".autoenv_leave.zsh",
		".rvmrc", ".tool-versions", ".asdfrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".config/mise", "mise.*.toml",
		".mise.*.toml", "mise/config.toml", "mise/config.*.toml", ".config/mise.toml", ".config/mise.*.toml", ".miserc.toml", ".shadowenv.d",
		".rtx.toml", ".config/rtx"}},
	{"the desktop or the session", []string{".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".xserverrc", ".gnomerc", ".pam_environment",
		".config/environment.d", ".config/autostart", ".config/autostart-scripts", ".config/plasma-workspace", ".kde/autostart", ".kde/env",
		".config/systemd", ".local/share/systemd", ".local/share/dbus-1", ".local/share/applications", ".local/share/thumbnailers",
		".local/share/gnome-shell", ".local/share/cinnamon", ".local/share/plasma", ".local/share/nautilus-python", ".local/share/kservices5",
		".config/i3", ".i3", ".config/sway", ".config/hypr", ".config/river", ".config/openbox", ".config/bspwm", ".config/sxhkd", ".config/awesome",
		".xmonad", ".config/xmonad", ".config/polybar", ".config/waybar", ".fluxbox", ".config/labwc", ".config/niri",
		".config/qtile", ".config/herbstluftwm", ".config/wayfire.ini", ".config/uwsm", ".config/kanshi", ".config/swayidle", ".config/lxsession", ".icewm",
		".fvwm", ".xbindkeysrc", ".xresources", ".xdefaults", ".config/user-dirs.dirs", ".config/pipewire", ".config/wireplumber", ".config/pulse", ".pulse",
		".asoundrc", ".config/conky", ".conkyrc", "library/launchagents", "library/launchdaemons",
		"library/startupitems", "start menu/programs/startup", "autorun.inf", "desktop.ini"}},
	{"the system", []string{"/etc/cron*", "/etc/anacrontab", "/etc/at.*", "/var/spool/cron*", "/var/spool/at", "/var/spool/atjobs", "/etc/systemd",
		"/lib/systemd", "/usr/lib/systemd", "/usr/local/lib/systemd", "/run/systemd", "/etc/init*", "/etc/rc*", "/etc/inittab", "/etc/ld.so*",
		"/etc/pam.d", "/etc/security", "/etc/udev", "/etc/modprobe.d", "/etc/modules*", "/etc/network*", "/etc/update-motd.d", "/etc/logrotate*",
		"/etc/apt", "/etc/dpkg", "/etc/x11", "/etc/xdg", "/etc/dbus-1", "/etc/polkit-1", "/etc/periodic", "/private/etc/cron*",
		"/private/etc/periodic", "/private/etc/pam.d"}},
	{"an editor", []string{".vimrc", "_vimrc", ".gvimrc", "_gvimrc", ".vim", "vimfiles", ".exrc", "_exrc", ".nexrc", ".nvimrc", ".nvim.lua", ".config/nvim",
		".config/vim", ".local/share/nvim", ".emacs", ".emacs.el", ".emacs.d", ".config/emacs", ".doom.d", ".spacemacs", ".dir-locals.el",
		".dir-locals-2.el", ".nanorc", ".config/nano", ".kakrc", ".config/kak", ".helix", ".config/helix", ".config/micro", ".vscode", ".vscode-server",
		".vscode-insiders", ".vscode-oss", "*.code-workspace", ".config/code", ".config/vscodium", "application support/code", ".devcontainer",
		".devcontainer.json", ".idea", ".fleet", ".externaltoolbuilders", ".vs", ".lvimrc", ".config/jetbrains", ".zed", ".config/zed", ".config/sublime-text*", ".nova"}},
	{"a model's agent", []string{".mcp.json", "mcp.json", "claude_desktop_config.json", ".claude", ".claude.json", ".cursor", ".windsurf", ".codeium",
		".codex", ".gemini", ".qwen", ".continue", ".roo", ".cline", ".kiro", ".kilocode", ".amazonq", ".junie", ".augment", ".trae", ".goose",
		".config/goose", ".opencode", "opencode.json", "opencode.jsonc", ".config/opencode", ".crush", ".crush.json", "crush.json", ".config/crush",
		".aider.conf.yml", ".openhands", ".factory", ".copilot", ".config/github-copilot", ".grok"}},
	{"a package manager or a build tool", []string{".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".yarn/sdks", ".pnpmfile.cjs",
		".pnpmfile.mjs", ".config/pnpm", "bunfig.toml", ".bunfig.toml", ".cargo/config", ".cargo/config.toml", ".config/pip", ".pip", "pip.conf",
		"pip.ini", ".pydistutils.cfg", ".config/uv", ".config/pypoetry", ".condarc", ".gemrc", ".bundle", ".mvn", ".m2/settings*.xml",
		".m2/extensions.xml", ".mavenrc", ".gradle/init*", ".gradle/gradle.properties", ".sbtopts", ".sbt", ".bazelrc", ".bazeliskrc", ".buckconfig", ".buckconfig.local", "rust-toolchain", "rust-toolchain.toml", ".config/go/env",
		".config/ccache", ".terraformrc", ".vagrant.d", "ansible.cfg", ".ansible.cfg", ".config/containers"}},
	{"an interpreter or a debugger", []string{"sitecustomize.py", "usercustomize.py", "site-packages/*.pth", "dist-packages/*.pth", ".pythonrc",
		".pythonrc.py", ".pythonstartup", ".pdbrc", ".ipython", ".jupyter", ".irbrc", ".pryrc", ".rdbgrc", ".rdebugrc", ".rprofile", ".renviron",
		".ghci", ".ghc", ".iex.exs", ".erlang", ".ocamlinit", ".utop-init", ".config/utop", ".sbclrc", ".guile", ".octaverc", ".rdata", ".gnuplot", ".julia/config",
		".perldb", ".psqlrc", ".sqliterc", ".duckdbrc", ".mongorc.js", ".mongoshrc.js", ".my.cnf", ".gdbinit",
		".gdbearlyinit", ".config/gdb", ".lldbinit", ".lldbinit-*", ".radare2rc", ".config/radare2"}},
	{"a terminal or a tool of the command line", []string{".tmux.conf", ".tmux", ".config/tmux", ".screenrc", ".config/zellij", ".wezterm.lua",
		".config/wezterm", ".config/kitty", ".config/alacritty", ".alacritty.*", ".config/ghostty", ".config/foot", ".lesskey", ".less",
		".config/lesskey", ".lessfilter", ".wgetrc", ".curlrc", ".config/curlrc", ".mailcap", ".muttrc", ".mutt", ".config/mutt", ".config/neomutt",
		".forward", ".procmailrc", ".fetchmailrc", ".rhosts", ".shosts", ".config/ranger", ".config/lf", ".config/nnn", ".config/yazi", ".config/mc",
		".config/mpv", ".local/share/gh"}},
	{"a browser", []string{".mozilla", ".config/google-chrome", ".config/chromium", ".config/microsoft-edge", ".config/bravesoftware",
		"application support/google/chrome", "application support/mozilla", "application support/chromium"}},
}

// Autoruns returns the table, beside which stand the files of git's own
// directories. The caller owns it.
func Autoruns() []Autorun {
	all := slices.Clone(autoruns)
	for i := range all {
		all[i].Paths = slices.Clone(all[i].Paths)
	}
	return all
}

// autorunPattern is one path of the table.
type autorunPattern struct {
	by    string
	names []string
}

// autorunPatterns are the table's paths by their first name.
type autorunPatterns struct {
	absolute, plain map[string][]autorunPattern
	wild            []autorunPattern // whose first name holds a wildcard
}

var autorunIndex = newAutorunPatterns(autoruns)

func newAutorunPatterns(table []Autorun) autorunPatterns {
	ix := autorunPatterns{absolute: map[string][]autorunPattern{}, plain: map[string][]autorunPattern{}}
	for _, row := range table {
		for _, p := range row.Paths {
			rest, absolute := strings.CutPrefix(p, "/")
			x := autorunPattern{row.By, strings.Split(rest, "/")}
			switch first := x.names[0]; {
			case absolute:
				ix.absolute[first] = append(ix.absolute[first], x)
			case strings.Contains(first, "*"):
				ix.wild = append(ix.wild, x)
			default:
				ix.plain[first] = append(ix.plain[first], x)
			}
		}
	}
	return ix
}

// autorunBy says what would run the file at a path, or read commands from it,
// by itself; "" for nothing. folded is the path as [Fold] returns it.
func autorunBy(file, folded string) string {
	names := strings.Split(strings.TrimPrefix(folded, "/"), "/")
	for i, name := range names {
		names[i] = withoutStream(name)
	}
	if by := firstMatch(autorunIndex.absolute[names[0]], names); by != "" {
		return by
	}
	for i, name := range names {
		by := firstMatch(autorunIndex.plain[name], names[i:])
		if by == "" {
			by = firstMatch(autorunIndex.wild, names[i:])
		}
		if by != "" {
			return by
		}
	}
	if repositoryFile(path.Base(file), names) {
		return "git"
	}
	return ""
}

// withoutStream returns a name without what NTFS takes for the name of a stream.
func withoutStream(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return name
}

func firstMatch(patterns []autorunPattern, names []string) string {
	for _, p := range patterns {
		if p.matches(names) {
			return p.by
		}
	}
	return ""
}

// matches reports whether names begin with those of the pattern.
func (p autorunPattern) matches(names []string) bool {
	if len(names) < len(p.names) {
		return false
	}
	for i, n := range p.names {
		before, behind, wild := strings.Cut(n, "*")
		if !wild && n != names[i] || len(names[i]) < len(before)+len(behind) || !strings.HasPrefix(names[i], before) || !strings.HasSuffix(names[i], behind) {
			return false
		}
	}
	return true
}

// Of a directory .git, a skill that does git's work may write these: they are
// data, and nothing in them is run.
var (
	gitTrees = []string{"objects", "refs", "logs", "reftable"}
	gitFiles = []string{"head", "orig_head", "fetch_head", "merge_head", "cherry_pick_head", "revert_head", "index", "packed-refs", "shallow",
		"commit_editmsg", "merge_msg", "merge_mode", "squash_msg"}
)

// gitCommands are the names by which a directory that git takes for a repository
// leads to commands.
var gitCommands = []string{"config", "config.worktree", "commondir", "gitdir", "hooks", "info", "modules", "worktrees",
	"rebase-merge", "rebase-apply", "sequencer"}

// GitCommands returns the names of files and directories that lead git to
// commands when it takes their directory for a repository, which it does when
// there is a file HEAD beside them. They are in lower case.
func GitCommands() []string { return slices.Clone(gitCommands) }

// repositoryFile reports whether a path is one of git's files that lead to
// commands, or makes a repository of a directory. Outside of .git that is HEAD
// alone: git takes no directory without it for a repository, and what is written
// before it or after it does not matter then. names are the path's, folded.
func repositoryFile(base string, names []string) bool {
	inside := false
	for i, name := range names {
		if isDotGit(name) {
			if !gitData(names[i+1:]) {
				return true
			}
			inside = true
		}
	}
	return !inside && names[len(names)-1] == "head" && strings.HasPrefix(visible(base), "HEAD")
}

// isDotGit reports whether a file system may take a name for .git. NTFS and FAT
// have a short name for it.
func isDotGit(name string) bool { return name == ".git" || strings.HasPrefix(name, "git~") }

// gitData reports whether the path of names below a .git is data.
func gitData(names []string) bool {
	switch {
	case len(names) == 0: // .git itself: a file would name another directory
		return false
	case slices.Contains(gitTrees, names[0]):
		return !slices.ContainsFunc(names[1:], func(n string) bool {
			return n == "config" || n == "config.worktree" || n == "commondir" || n == "hooks"
		})
	}
	return len(names) == 1 && slices.Contains(gitFiles, strings.TrimSuffix(names[0], ".lock"))
}
