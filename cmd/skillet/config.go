package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/base/config"
)

func (t *terminal) configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show and change the settings",
		Description: "Each setting has a default, which is overridden by " + config.FileName + " in the home, then by\n" +
			"the file " + config.EnvFileName + " beside it, then by SKILLET_... variables, then by --set. SKILLET_LOG_LEVEL=debug\n" +
			"sets log_level, and SKILLET_MODELS_DEFAULT sets models.default; the file " + config.EnvFileName + " has such lines.\n" +
			"--env-file, or $" + config.EnvFileVariable + ", names another one.\n\n" +
			"Examples:\n  skillet config list\n  skillet config get models.default\n" +
			"  skillet config get log_level --set log_level=debug",
		Subcommands: []*cli.Command{
			t.configSet(), t.configUnset(),
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
				Description: "Examples:\n  skillet config get max_memory_mb\n  skillet config get models.default",
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
		conf, err := config.Load(c.Context, home, config.Layers{EnvFile: c.String("env-file"), Environ: t.environ, Flags: c.StringSlice("set")})
		if err != nil {
			return err
		}
		return do(c, conf)
	})
}
