package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/catalog"
)

// checkCatalog reads the packages that come with this program, byte by byte.
func (s *Service) checkCatalog(context.Context) (string, error) {
	all := s.Catalog.Packages()
	if len(all) == 0 {
		return "this program has none: `make skills` builds one into it, and releases have one", nil
	}
	var errs []error
	folders := map[string]bool{}
	good := 0
	for _, p := range all {
		path, err := s.Catalog.Check(p)
		switch {
		case errors.Is(err, catalog.ErrNoFile): // which the warnings say
		case err != nil:
			errs = append(errs, err)
		default:
			good++
			folders[filepath.Dir(path)] = true
		}
	}
	if len(errs) > 0 {
		return "", fault.Wrap(fault.KindVerification, errors.Join(errs...)).
			WithHint("nothing of that is installed; unpack the release of this program again, or in a clone run `make skills`")
	}
	signed := "signed by nobody"
	if key := s.Catalog.Key(); !key.IsZero() {
		signed = "signed by " + string(key.Signer())
	}
	in := ""
	if good > 0 {
		in = " in " + strings.Join(slices.Sorted(maps.Keys(folders)), ", ")
	}
	return fmt.Sprintf("%d of %d packages%s, every byte as listed, %s", good, len(all), in, signed), nil
}

// unpacked are the packages of the catalog whose files are not there, for
// [Service.Diagnose].
func (s *Service) unpacked(context.Context) []string {
	var missing []string
	var where error
	for _, p := range s.Catalog.Packages() {
		if _, err := s.Catalog.Path(p); errors.Is(err, catalog.ErrNoFile) {
			missing, where = append(missing, p.Name), err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s cannot be installed from it: %s", strings.Join(missing, ", "), where)}
}
