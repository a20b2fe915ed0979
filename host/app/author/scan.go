package author

import (
	"context"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A ScanRequest says what is to be scanned.
type ScanRequest struct {
	// Address is of an installed skill, or of what is at a path.
	Address  invoke.Address
	Progress Progress
}

// Scanned is what scanning a package found.
type Scanned struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Digest   manifests.Digest  `json:"digest"`
	Worst    findings.Severity `json:"worst,omitempty"`
	Blocking []string          `json:"blocking"`
	findings.Report
}

// What a scan finds, and how grave that is.
type (
	Findings = findings.Report
	Finding  = findings.Finding
	Severity = findings.Severity
)

// The severities.
const (
	Info  = findings.Info
	Warn  = findings.Warn
	Block = findings.Block
)

// Scan reads a package without running it, and says what to look at. What was revoked, and
// what is disabled, is scanned, too. Of a path it needs no home.
func (s *Service) Scan(ctx context.Context, by approval.Principal, r ScanRequest) (Scanned, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Scanned{}, err
	}
	p, err := s.scannable(ctx, by, r.Address)
	if err != nil {
		return Scanned{}, err
	}
	m := p.Manifest()
	defer r.Progress.step("reading " + m.Name)()
	found, err := findings.Scan(ctx, p)
	return Scanned{m.Name, m.Version, p.Digest(), found.Worst(), append([]string{}, found.Blocking()...), found}, err
}

func (s *Service) scannable(ctx context.Context, by approval.Principal, a invoke.Address) (*bundle.Package, error) {
	switch {
	case a.Path != "":
		if _, err := person(by, "scanning a path"); err != nil {
			return nil, err
		}
		return source.Runnable(ctx, a.Path)
	case !a.Installed():
		return nil, fault.Errorf(fault.KindUsage, "a scan is of an installed skill or a path").WithHint("%s shows what is installed; a path begins with ./ or /", fault.List(fault.Skills))
	}
	h, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	return h.Invoke.Read(ctx, by, a.Ref)
}
