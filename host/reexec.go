package host

import (
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/author/script"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/internal/reexec"
)

// Roles are what this program does when it started itself again. Its main looks there
// first.
func Roles() reexec.Table {
	return reexec.Table{
		reexec.Worker.Word:   func([]string) int { return worker.Main() },
		reexec.Bundler.Word:  script.Apart,
		reexec.Plugin.Word:   work.ServePlugin,
		reexec.Attempts.Word: upkeep.ServeEscape,
	}
}
