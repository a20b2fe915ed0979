package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/upkeep"
)

func (t *terminal) configCommand() *cli.Command {
	return group("config",
		t.configSet(), t.configUnset(),
		command("list ls", nil, t.withoutHome(t.listSettings)),
		command("get", nil, t.withoutHome(t.getSetting)),
	)
}

func (t *terminal) listSettings(ctx context.Context, c *cli.Context) error {
	home, err := t.home(c)
	if err != nil {
		return err
	}
	all, err := upkeep.Settings(ctx, t.person(), home, t.settingLayers(c))
	return answered(t, all, err, func(all []upkeep.Setting) {
		var rows [][]string
		for _, v := range all {
			rows = append(rows, []string{v.Key, fmt.Sprint(v.Value), v.Source, v.Doc})
		}
		t.table("KEY\tVALUE\tFROM\tMEANING", rows)
	})
}

func (t *terminal) getSetting(ctx context.Context, c *cli.Context) error {
	home, err := t.home(c)
	if err != nil {
		return err
	}
	args, err := need(c, 1, "one key")
	if err != nil {
		return err
	}
	v, err := upkeep.SettingOf(ctx, t.person(), home, t.settingLayers(c), args[0])
	return answered(t, v, err, func(v upkeep.Setting) { t.say("%v", v.Value) })
}

// settingLayers are what overrides the settings of a home.
func (t *terminal) settingLayers(c *cli.Context) upkeep.SettingLayers {
	return upkeep.SettingLayers{EnvFile: c.String("env-file"), Environ: t.environ, Flags: c.StringSlice("set")}
}
