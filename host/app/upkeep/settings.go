package upkeep

import (
	"context"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/record/approval"
)

// The files of a home with settings, and the variable that names another file for the second.
const (
	SettingsFile            = config.FileName
	EnvironmentFile         = config.EnvFileName
	EnvironmentFileVariable = config.EnvFileVariable
)

// A Setting is one setting with where its value is from, and SettingLayers are what overrides
// the file of a home.
type (
	Setting       = config.Value
	SettingLayers = config.Layers
)

// Settings returns the settings of a home, which need not be open and may not exist. A file
// that cannot be read as settings is a [fault.KindUsage] error.
func Settings(ctx context.Context, by approval.Principal, home string, l SettingLayers) ([]Setting, error) {
	c, err := loadSettings(ctx, by, home, l)
	if err != nil {
		return nil, err
	}
	return c.List(), nil
}

// SettingOf is [Settings] for one setting. A key that does not exist is a
// [fault.KindNotFound] error.
func SettingOf(ctx context.Context, by approval.Principal, home string, l SettingLayers, key string) (Setting, error) {
	c, err := loadSettings(ctx, by, home, l)
	if err != nil {
		return Setting{}, err
	}
	return c.Get(key)
}

// ServiceSettings are the settings of a service that can change while it runs.
type ServiceSettings = config.Service

// SettingsOfService returns the settings that a service takes over while it runs.
func SettingsOfService(ctx context.Context, by approval.Principal, home string, l SettingLayers) (ServiceSettings, error) {
	c, err := loadSettings(ctx, by, home, l)
	if err != nil {
		return ServiceSettings{}, err
	}
	return c.Settings().Service, nil
}

func loadSettings(ctx context.Context, by approval.Principal, home string, l SettingLayers) (*config.Config, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	return config.Load(ctx, home, l)
}
