//go:build !unix

package worker

import "errors"

func boundResources() error { return nil }

func boundWork(setup) error { return errors.New("no means on this system") }
