package badgerstore

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
)

// Name is what settings call this backend.
const Name = "badger"

// Backend returns the backend that Badger is.
func Backend() store.Backend { return backend{} }

type backend struct{}

func (backend) Name() string { return Name }

func (backend) Owns(dir string) bool {
	for _, name := range []string{headName, dbName, sealName, oldName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func (backend) Open(log hclog.Logger, dir string, o Options) (store.Opened, error) {
	s, err := Open(log, dir, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (backend) OpenShared(log hclog.Logger, dir string, o Options) (store.Opened, error) {
	s, err := OpenShared(log, dir, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (backend) Create(ctx context.Context, log hclog.Logger, dir string, o Options, items []store.Item, number uint64) error {
	return Create(ctx, log, dir, o, items, number)
}

func (backend) Restore(ctx context.Context, log hclog.Logger, r io.Reader, dir string, o Options) (store.Totals, error) {
	return Restore(ctx, log, r, dir, o)
}

func (backend) Verify(ctx context.Context, log hclog.Logger, dir string, o Options) (store.Report, error) {
	return Verify(ctx, log, dir, o)
}

func (backend) Hold(ctx context.Context, log hclog.Logger, dir string, o Options) (store.Held, error) {
	h, err := Hold(ctx, log, dir, o)
	if err != nil {
		return nil, err
	}
	return h, nil
}
