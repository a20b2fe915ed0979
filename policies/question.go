package policies

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/skillet-run/skillet/policies/capability"
)

// question is a query in the terms of the schema. It is also the store of
// entities for its evaluation: it knows the skill, the resource and the home,
// works out their attributes and parents when a policy asks for them, and knows
// nothing else.
type question struct {
	principal cedar.EntityUID
	action    cedar.EntityUID
	resource  cedar.EntityUID
	home      cedar.EntityUID // zero when it is not known or does not matter
	context   cedar.RecordMap

	skill    Principal
	entities map[cedar.EntityUID]cedar.Entity
}

func newQuestion(q Query) (*question, error) {
	a := &question{
		principal: cedar.NewEntityUID("Skill", cedar.String(q.Principal.Skill)),
		skill:     q.Principal,
		context: cedar.RecordMap{
			"granted": cedar.Boolean(q.Granted),
			"grant":   cedar.String(q.GrantedBy),
			"origin":  cedar.String(q.Principal.Origin),
			"bytes":   cedar.Long(q.Bytes),
		},
	}
	switch q.Phase {
	case PhaseCall:
		return a, a.call(q)
	case PhaseInstall:
		a.install(q)
		return a, nil
	default:
		return nil, fmt.Errorf("unknown phase %d", q.Phase)
	}
}

func action(name capability.Action) cedar.EntityUID {
	return cedar.NewEntityUID("Action", cedar.String(name))
}

// call fills in what a running skill tries. The error is for a person: it says
// why the request is ambiguous and so never allowed.
func (a *question) call(q Query) error {
	a.action = action(q.Request.Action)
	if q.Request.Action == capability.HTTP {
		e, err := q.Request.Endpoint()
		if err != nil {
			return explain(err)
		}
		a.aimAtHost(e)
		return nil
	}
	r, err := q.Request.Canonical()
	if err != nil {
		return explain(err)
	}
	if r.Action == capability.FSRead || r.Action == capability.FSWrite {
		a.aimAtPath(r.Resource, q.Home)
	} else {
		a.aimAtName(r.Resource)
	}
	return nil
}

func explain(err error) error {
	var pe *capability.ParseError
	if errors.As(err, &pe) {
		return errors.New(pe.Message)
	}
	return err
}

// install fills in what a package asks for.
func (a *question) install(q Query) {
	c := q.Capability
	a.action = action("install")
	a.context["wants"] = cedar.String(c.Action())
	a.context["capability"] = cedar.String(c.String())
	if e, ok := c.Endpoint(); ok {
		a.aimAtHost(e)
		return
	}
	if c.Base() != "" {
		a.aimAtPath(c.Resource(), q.Home)
		return
	}
	a.aimAtName(c.Resource())
}

func (a *question) aimAtPath(file, home string) {
	a.resource = cedar.NewEntityUID("Path", cedar.String(file))
	a.context["path"] = cedar.String(file)
	a.context["folded"] = cedar.String(fold(file))
	if path.IsAbs(home) && path.Clean(home) != "/" {
		a.home = cedar.NewEntityUID("Path", cedar.String(fold(path.Clean(home))))
		a.context["home"] = a.home
	}
}

func (a *question) aimAtHost(e capability.Endpoint) {
	a.resource = cedar.NewEntityUID("Host", cedar.String(e.Host))
	a.context["method"] = cedar.String(e.Method)
	a.context["scheme"] = cedar.String(e.Scheme)
	a.context["host"] = cedar.String(e.Host)
	a.context["port"] = cedar.Long(e.Port)
	a.context["path"] = cedar.String(e.Path)
	if addr, ok := e.Addr(); ok {
		a.context["address"] = cedar.IPAddr(netip.PrefixFrom(addr, addr.BitLen()))
	}
}

func (a *question) aimAtName(name string) {
	a.resource = cedar.NewEntityUID("Name", cedar.String(name))
	a.context["name"] = cedar.String(name)
}

// Get returns the skill with its attributes, and resource and home with what is
// above them. It is part of Cedar's EntityGetter.
func (a *question) Get(uid cedar.EntityUID) (cedar.Entity, bool) {
	if uid != a.principal && uid != a.resource && uid != a.home {
		return cedar.Entity{}, false
	}
	e, ok := a.entities[uid]
	if !ok {
		e = a.entity(uid)
		if a.entities == nil {
			a.entities = make(map[cedar.EntityUID]cedar.Entity, 3)
		}
		a.entities[uid] = e
	}
	return e, true
}

func (a *question) entity(uid cedar.EntityUID) cedar.Entity {
	switch uid {
	case a.principal:
		return cedar.Entity{UID: uid, Attributes: cedar.NewRecord(cedar.RecordMap{
			"version": cedar.String(a.skill.Version),
			"digest":  cedar.String(a.skill.Digest),
			"signer":  cedar.String(a.skill.Signer),
		})}
	case a.resource:
		return cedar.Entity{UID: uid, Parents: cedar.NewEntityUIDSet(parents(uid)...)}
	default:
		return cedar.Entity{UID: uid, Parents: cedar.NewEntityUIDSet(a.aboveHome()...)}
	}
}

// aboveHome returns the directories above the home, and the resource when it is
// one of them in other letters.
func (a *question) aboveHome() []cedar.EntityUID {
	list := directoriesAbove(nil, string(a.home.ID))
	folded := cedar.NewEntityUID("Path", cedar.String(fold(string(a.resource.ID))))
	if folded == a.home || slices.Contains(list, folded) {
		list = append(list, a.resource)
	}
	return list
}

// parents returns everything above a path or host, not only what is next above:
// Cedar then has nothing further to look up.
func parents(uid cedar.EntityUID) []cedar.EntityUID {
	id := string(uid.ID)
	switch uid.Type {
	case "Host":
		return domainsAbove(uid, id)
	case "Path":
		list := directoriesAbove(nil, id)
		if folded := fold(id); folded != id {
			list = directoriesAbove(append(list, cedar.NewEntityUID("Path", cedar.String(folded))), folded)
		}
		return list
	default:
		return nil
	}
}

func directoriesAbove(list []cedar.EntityUID, file string) []cedar.EntityUID {
	for file != "/" {
		file = path.Dir(file)
		list = append(list, cedar.NewEntityUID("Path", cedar.String(file)))
	}
	return list
}

func domainsAbove(uid cedar.EntityUID, host string) []cedar.EntityUID {
	if (capability.Endpoint{Host: host}).IsAddress() {
		return nil
	}
	var list []cedar.EntityUID
	for {
		_, domain, found := strings.Cut(host, ".")
		if !found {
			return list
		}
		list = append(list, cedar.NewEntityUID(uid.Type, cedar.String(domain)))
		host = domain
	}
}

// fold returns a path as file systems that ignore case compare it, so that a
// forbid for .ssh also bites on .SSH: letters in lower case, also those that
// become ASCII only by folding, and without the invisible characters that HFS+
// skips. It is the identity for most paths.
func fold(file string) string {
	if !needsFolding(file) {
		return file
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, file)
}

func needsFolding(file string) bool {
	for i := range len(file) {
		if b := file[i]; b >= utf8.RuneSelf || 'A' <= b && b <= 'Z' {
			return true
		}
	}
	return false
}
