package policies

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/skillet-run/skillet/policies/capability"
)

// question is a query in the terms of the schema. It is also the store of
// entities for its evaluation: it knows the skill and the resource, works out
// their attributes and parents when a policy asks for them, and knows nothing
// else.
type question struct {
	principal cedar.EntityUID
	action    cedar.EntityUID
	resource  cedar.EntityUID
	context   cedar.RecordMap

	skill         Principal
	skillEntity   cedar.Entity // zero until a policy asks for it
	resourceAbove cedar.Entity // zero until a policy asks for it
}

// How a path lies to Skillet's home: the values of context.home.
const (
	homeUnknown = "unknown" // the home is not known
	homeInside  = "inside"  // the path is the home or below it
	homeAbove   = "above"   // the path is a directory that the home is below
	homeOutside = "outside"
)

func newQuestion(q Query) (*question, error) {
	a := &question{
		principal: cedar.NewEntityUID("Skill", cedar.String(q.Principal.Skill)),
		skill:     q.Principal,
		context:   make(cedar.RecordMap, 13),
	}
	a.context["granted"] = cedar.Boolean(q.Granted)
	a.context["grant"] = cedar.String(q.GrantedBy)
	a.context["origin"] = cedar.String(q.Principal.Origin)
	a.context["bytes"] = cedar.Long(q.Bytes)
	switch q.Phase {
	case PhaseCall:
		return a, a.call(q)
	case PhaseInstall:
		a.install(q)
		return a, nil
	case PhaseProcess:
		a.action = action(ShareProcess)
		a.aimAtName("")
		return a, nil
	case PhaseTool:
		if q.Call == nil {
			return nil, errors.New("nothing is known of the call")
		}
		a.action = action(ActionCall)
		a.aimAtName(q.Call.Tool)
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
	if q.Request.Action.Shape() == capability.ShapeURL {
		e, err := q.Request.Endpoint()
		if err != nil {
			return problemOf(err)
		}
		a.aimAtHost(e)
		if q.Address.IsValid() {
			a.locate(q.Address)
		}
		a.context["dialled"] = cedar.Boolean(q.dialled)
		a.context["new_domain"] = cedar.Boolean(newDomain(q.GrantedBy))
		return nil
	}
	r, err := q.Request.Canonical()
	if err != nil {
		return problemOf(err)
	}
	if r.Action.Shape() == capability.ShapePath {
		a.aimAtPath(r.Resource, q.Home)
	} else {
		a.aimAtName(r.Resource)
	}
	return nil
}

// newDomain reports whether a grant leaves open whose host it is.
func newDomain(grant string) bool {
	if !strings.Contains(grant, "//*.") { // most grants name their host
		return false
	}
	c, err := capability.Parse(grant)
	return err == nil && !c.NamesDomain()
}

// problemOf leaves the request out of an error that is shown beside it.
func problemOf(err error) error {
	var pe *capability.ParseError
	if errors.As(err, &pe) {
		return errors.New(pe.Message)
	}
	return err
}

// install fills in what a package asks for.
func (a *question) install(q Query) {
	c := q.Capability
	a.action = action(actionInstall)
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
	folded := Fold(file)
	a.context["folded"] = cedar.String(folded)
	a.context["autorun"] = cedar.String(autorunBy(file, folded))
	a.context["home"] = cedar.String(placeOf(folded, Fold(home)))
}

// placeOf says where a path lies from the home, both folded. A home that is the
// root is taken for a mistake.
func placeOf(file, home string) string {
	home = path.Clean(home)
	switch {
	case !path.IsAbs(home) || home == "/":
		return homeUnknown
	case isBelow(file, home):
		return homeInside
	case isBelow(home, file):
		return homeAbove
	default:
		return homeOutside
	}
}

// isBelow reports whether file is dir or in it.
func isBelow(file, dir string) bool {
	rest, ok := strings.CutPrefix(file, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

func hostUID(host string) cedar.EntityUID { return cedar.NewEntityUID("Host", cedar.String(host)) }

func (a *question) aimAtHost(e capability.Endpoint) {
	a.resource = hostUID(e.Host)
	a.context["method"] = cedar.String(e.Method)
	a.context["scheme"] = cedar.String(e.Scheme)
	a.context["host"] = cedar.String(e.Host)
	a.context["port"] = cedar.Long(e.Port)
	a.context["path"] = cedar.String(e.Path)
	if addr, ok := e.Addr(); ok {
		a.locate(addr)
	}
}

// locate says where the host is.
func (a *question) locate(addr netip.Addr) {
	a.context["address"] = cedar.IPAddr(netip.PrefixFrom(addr, addr.BitLen()))
}

// atAddress is the query with the address in the place of the host's name.
func (q Query) atAddress() Query {
	if e, err := q.Request.Endpoint(); err == nil {
		q.dialled = e.Host != q.Address.String()
		e.Host = q.Address.String()
		q.Request.Resource = e.URL()
	}
	return q
}

func (a *question) aimAtName(name string) {
	a.resource = cedar.NewEntityUID("Name", cedar.String(name))
	a.context["name"] = cedar.String(name)
}

// Get returns the skill with its attributes and the resource with what is above
// it. It is part of Cedar's EntityGetter.
func (a *question) Get(uid cedar.EntityUID) (cedar.Entity, bool) {
	switch uid {
	case a.resource:
		if a.resourceAbove.UID != uid {
			a.resourceAbove = cedar.Entity{UID: uid, Parents: cedar.NewEntityUIDSet(parents(uid)...)}
		}
		return a.resourceAbove, true
	case a.principal:
		if a.skillEntity.UID != uid {
			a.skillEntity = cedar.Entity{UID: uid, Attributes: a.skill.attributes()}
		}
		return a.skillEntity, true
	default:
		return cedar.Entity{}, false
	}
}

func (p Principal) attributes() cedar.Record {
	return cedar.NewRecord(cedar.RecordMap{
		"version": cedar.String(p.Version),
		"digest":  cedar.String(p.Digest),
		"signer":  cedar.String(p.Signer),
	})
}

// parents returns everything above a path or host, not only what is next above:
// Cedar then has nothing further to look up.
func parents(uid cedar.EntityUID) []cedar.EntityUID {
	id := string(uid.ID)
	switch uid.Type {
	case "Host":
		return domainsAbove(uid, id)
	case "Path":
		return directoriesAbove(uid, id)
	default:
		return nil
	}
}

func directoriesAbove(uid cedar.EntityUID, file string) []cedar.EntityUID {
	var list []cedar.EntityUID
	for file != "/" {
		file = file[:max(1, strings.LastIndexByte(file, '/'))]
		list = append(list, cedar.NewEntityUID(uid.Type, cedar.String(file)))
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

// Fold returns a path as file systems that ignore case compare it, so that a
// forbid for .ssh also bites on .SSH: letters in lower case, also those that
// become ASCII only by folding, be it two letters of one, without the invisible
// characters that HFS+ and ext4 skip, and without the dots and spaces at the end
// of a name that FAT and NTFS do not store. It is the identity for most paths.
func Fold(file string) string {
	if needsFolding(file) {
		file = strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, visible(file))
		file = unligated.Replace(file)
	}
	if !needsTrimming(file) {
		return file
	}
	names := strings.Split(file, "/")
	for i, name := range names {
		names[i] = cmp.Or(strings.TrimRight(name, ". "), name)
	}
	return strings.Join(names, "/")
}

// unligated replaces the letters in lower case that full case folding makes several
// letters of ASCII, as APFS and ext4 do.
var unligated = strings.NewReplacer("ß", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// visible returns a path without characters that file systems skip.
func visible(file string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
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

func needsTrimming(file string) bool {
	for i := range len(file) {
		if (file[i] == '.' || file[i] == ' ') && (i+1 == len(file) || file[i+1] == '/') {
			return true
		}
	}
	return false
}
