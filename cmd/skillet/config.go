package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/task"
)

func (t *terminal) configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show the settings, and where each came from",
		Description: "Settings are read from " + config.FileName + " in the home, then from SKILLET_... variables:\n" +
			"SKILLET_LOG_LEVEL=debug sets log_level.\n\n" +
			"Examples:\n  skillet config list\n  skillet config get max_memory_mb",
		Subcommands: []*cli.Command{
			{
				Name: "list", Aliases: []string{"ls"},
				Usage:       "list all settings",
				Description: "Examples:\n  skillet config list\n  skillet config list --json",
				Action: t.withConfig(func(c *cli.Context, conf *config.Config) error {
					return t.answer(conf.List(), func() {
						var rows [][]string
						for _, v := range conf.List() {
							rows = append(rows, []string{v.Key, fmt.Sprint(v.Value), v.Source, v.Doc})
						}
						t.table("KEY\tVALUE\tFROM\tMEANING", rows)
					})
				}),
			},
			{
				Name:        "get",
				Usage:       "show one setting",
				ArgsUsage:   "KEY",
				Description: "Examples:\n  skillet config get max_memory_mb",
				Action: t.withConfig(func(c *cli.Context, conf *config.Config) error {
					args, err := need(c, 1, "one key")
					if err != nil {
						return err
					}
					v, err := conf.Get(args[0])
					if err != nil {
						return err
					}
					return t.answer(v, func() { t.say("%v", v.Value) })
				}),
			},
		},
	}
}

// withConfig reads the settings alone: they can be looked at when a home
// cannot be opened.
func (t *terminal) withConfig(do func(*cli.Context, *config.Config) error) cli.ActionFunc {
	return t.withoutHome(func(_ context.Context, c *cli.Context) error {
		home, err := t.home(c)
		if err != nil {
			return err
		}
		conf, err := config.Load(home, t.environ)
		if err != nil {
			return err
		}
		return do(c, conf)
	})
}

func (t *terminal) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "check the home and this machine, and say what is wrong",
		Description: "Checks permissions, settings, policies, the audit log, the store, every installed\n" +
			"package byte by byte, and that the sandbox holds. Exit code 7 when a check fails.\n\n" +
			"Examples:\n  skillet doctor\n  skillet doctor --json",
		Action: t.withoutHome(t.doctor),
	}
}

// diagnosis is what --json prints of doctor.
type diagnosis struct {
	OK     bool         `json:"ok"`
	Home   string       `json:"home"`
	Checks []host.Check `json:"checks"`
}

func (t *terminal) doctor(ctx context.Context, c *cli.Context) error {
	home, err := t.home(c)
	if err != nil {
		return err
	}
	d := diagnosis{OK: true, Home: home}
	d.Checks = host.Diagnose(ctx, host.Options{Home: home, Environ: t.environ, LogOutput: t.err, Notifier: t})
	for _, check := range d.Checks {
		d.OK = d.OK && check.Error == nil
	}
	if err := t.answer(d, func() { t.showChecks(d) }); err != nil || d.OK {
		return err
	}
	return reported{task.KindVerification}
}

func (t *terminal) showChecks(d diagnosis) {
	t.say("home %s", d.Home)
	for _, c := range d.Checks {
		if c.Error == nil {
			t.say("  ok    %-10s %s", c.Name, plain(c.Detail))
			continue
		}
		t.say("  FAIL  %-10s %s", c.Name, plain(c.Error.Message))
		if c.Error.Hint != "" {
			t.say("        hint: %s", plain(c.Error.Hint))
		}
	}
}
