package policies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/policies/capability"
)

// The days of the cases of templates: a Monday, and a Sunday.
const (
	someMonday = "2026-11-30T"
	someSunday = "2026-11-29T"
)

var templates = []Template{
	{
		Name:  "working-hours",
		About: "forbid what skills do outside of working hours, in the zone of this machine",
		Values: []TemplateValue{
			{Name: "from", About: "the first hour, 0 to 23", Default: "8"},
			{Name: "to", About: "the hour at which it ends, 1 to 24", Default: "18"},
			{Name: "days", About: "the days, parted by commas", Default: "monday,tuesday,wednesday,thursday,friday"},
			{Name: "actions", About: "what is forbidden then, parted by commas: call for all calls of tools, or actions such as http", Default: "http"},
		},
		text: `// Outside of working hours these are refused.

@id({{q .ID}})
@reason({{printf "it is done from %s to %s o'clock on %s" (.Value "from") (.Value "to") (.Value "days") | q}})
forbid (principal, action in [{{actions (.List "actions")}}], resource)
when {
  context.now.hour < {{.Number "from"}} || context.now.hour >= {{.Number "to"}} ||
  !([{{list (.List "days")}}].contains(context.now.weekday))
};
`,
		check: checkHours,
		cases: hoursCases,
	},
	{
		Name:  "only-signed-by",
		About: "install and call only what one of these signers signed",
		Values: []TemplateValue{
			{Name: "signer", About: "the fingerprints of signers as the list of trusted signers has them, parted by commas"},
		},
		text: `// Only what these signers signed is installed, and called.

@id({{q .ID}})
@reason("only packages that a signer of the list signed")
forbid (principal, action in [Action::"install", Action::"call"], resource)
unless { [{{list (.List "signer")}}].contains(principal.signer) };
`,
		check: func(w Written) error {
			for _, s := range w.List("signer") {
				if !strings.Contains(s, ":") {
					return fmt.Errorf("%q is not a signer: it begins with neither \"key:\" nor \"keyless:\"", s)
				}
			}
			return nil
		},
		cases: func(w Written) []Case {
			signer := w.List("signer")[0]
			return []Case{
				{Name: "what nobody signed is not installed", Skill: "some-skill", Install: "clock", Want: "deny", By: []string{w.ID}},
				{Name: "what nobody signed is not called", Skill: "some-skill", Request: "call:run", Want: "deny", By: []string{w.ID}},
				{Name: "what the signer signed is asked about as usual", Skill: "some-skill", Signer: signer, Install: "clock", NotBy: []string{w.ID}},
				{Name: "what the signer signed is called", Skill: "some-skill", Signer: signer, Request: "call:run", NotBy: []string{w.ID}},
			}
		},
	},
	{
		Name:  "write-area",
		About: "write files below one directory alone",
		Values: []TemplateValue{
			{Name: "dir", About: "the directory, an absolute path"},
			{Name: "skill", About: "an installed MCP server whose tool is kept to the directory, too", optional: true},
			{Name: "tool", About: "that tool", Default: "write_file", optional: true},
			{Name: "argument", About: "the argument of the tool that is the path", Default: "path", optional: true},
		},
		text: `// Files are written below {{.Value "dir"}} alone.

@id({{q .ID}})
@reason({{printf "files are written below %s alone" (.Value "dir") | q}})
forbid (principal, action == Action::"fs.write", resource)
unless { resource in Path::{{q (.Value "dir")}} };
{{if .Value "skill"}}
// A server writes files itself: here it is looked at what it is asked for. Mind that it follows links.
@id({{printf "%s.%s" .ID (.Value "tool") | q}})
@reason({{printf "files are written below %s alone" (.Value "dir") | q}})
forbid (principal == Skill::{{q (.Value "skill")}}, action == Action::"call", resource == Name::{{q (.Value "tool")}})
unless {
  context.arguments has {{q (.Value "argument")}} &&
  context.arguments[{{q (.Value "argument")}}] like {{printf "%s/*" (.Value "dir") | q}} &&
  !(context.arguments[{{q (.Value "argument")}}] like "*/../*") &&
  !(context.arguments[{{q (.Value "argument")}}] like "*/..")
};
{{end}}`,
		check: func(w Written) error {
			if why := pathProblem(w.Value("dir"), false); why != "" || w.Value("dir") == "/" {
				return fmt.Errorf("dir is %q, and has to be an absolute path of a directory: %s", w.Value("dir"), why)
			}
			return nil
		},
		cases: areaCases,
	},
	{
		Name:  "agents-may-not-write",
		About: "let agents change no files, and send no requests but those that read",
		text: `// Agents change nothing: no files, and nothing at a server.

@id({{q .ID}})
@reason("an agent changes no files")
forbid (principal, action == Action::"fs.write", resource)
when { context.caller.kind == "agent" || context.arguments_from == "model" };

@id({{printf "%s.http" .ID | q}})
@reason("an agent changes nothing at a server")
forbid (principal, action == Action::"http", resource)
when { context.caller.kind == "agent" || context.arguments_from == "model" }
unless { ["GET", "HEAD", "OPTIONS"].contains(context.method) };
`,
		cases: func(w Written) []Case {
			write := Case{Skill: "some-skill", Request: "fs.write:/some/dir/file", Grants: []string{"fs.write:/some/dir/**"}}
			send := Case{Skill: "some-skill", Request: "http:POST https://example.com/", Grants: []string{"http:* https://example.com/*"}}
			get := Case{Skill: "some-skill", Request: "http:GET https://example.com/", Grants: []string{"http:* https://example.com/*"}}
			return []Case{
				write.with("an agent writes no file", "agent:general", Deny, w.ID),
				send.with("an agent sends nothing", "agent:general", Deny, w.ID+".http"),
				write.with("a person writes files", "person:somebody", Allow, w.ID),
				get.with("an agent reads at a server", "agent:general", Allow, w.ID+".http"),
			}
		},
	},
	{ // once more about the address that a name leads to nobody is asked: it was decided by the name
		Name:  "ask-new-domain-first",
		About: "ask a person before a request to a domain that is not in a list",
		Values: []TemplateValue{
			{Name: "known", About: "the domains that nobody is asked about, parted by commas"},
		},
		text: `// A person is asked before a request to a domain that is not known: add it to the list to be asked no more.

@id({{q .ID}})
@approval("required")
@reason("the domain is not in the list of those that are known")
forbid (principal, action == Action::"http", resource)
unless {
  context.approved ||
  context.dialled{{range .List "known"}} ||
  resource in Host::{{q .}}{{end}}
};
`,
		check: func(w Written) error {
			for _, h := range w.List("known") {
				if why := hostProblem(h, false); why != "" {
					return fmt.Errorf("%q is not a domain: %s", h, why)
				}
			}
			return nil
		},
		cases: func(w Written) []Case {
			known := w.List("known")[0]
			return []Case{
				{Name: "a known domain", Skill: "some-skill", Request: "http:GET https://" + known + "/", Grants: []string{"http:GET https://" + known + "/*"}, NotBy: []string{w.ID}},
				{Name: "a known domain, where it leads to", Skill: "some-skill", Request: "http:GET https://" + known + "/", Grants: []string{"http:GET https://" + known + "/*"}, Address: "93.184.215.14", NotBy: []string{w.ID}},
				{Name: "an address", Skill: "some-skill", Request: "http:GET https://93.184.215.14/", Grants: []string{"http:GET https://93.184.215.14/*"}, Want: "ask", By: []string{w.ID}},
				{Name: "another domain", Skill: "some-skill", Request: "http:GET https://not-known.example/", Grants: []string{"http:GET https://not-known.example/*"}, Want: "ask", By: []string{w.ID}},
				{Name: "another domain, which a person approved", Skill: "some-skill", Request: "http:GET https://not-known.example/", Grants: []string{"http:GET https://not-known.example/*"}, Approved: true, NotBy: []string{w.ID}},
			}
		},
	},
}

// with is the case for a caller, which a policy is to refuse, or not to refuse where want is
// Allow: what other policies say of it is theirs.
func (c Case) with(name, caller string, want Effect, policy string) Case {
	c.Name, c.Caller = name, caller
	if want == Allow {
		c.NotBy = []string{policy}
		return c
	}
	c.Want, c.By = want.String(), []string{policy}
	return c
}

func checkHours(w Written) error {
	from, to := w.Number("from"), w.Number("to")
	if from < 0 || to > 24 || from >= to || w.Value("from") != fmt.Sprint(from) || w.Value("to") != fmt.Sprint(to) {
		return fmt.Errorf("from is %q and to is %q; they are hours, from 0 to 24, the first one less than the second", w.Value("from"), w.Value("to"))
	}
	if len(w.List("days")) == 0 || len(w.List("actions")) == 0 {
		return fmt.Errorf("days and actions are not empty")
	}
	for _, d := range w.List("days") {
		if !slices.Contains(weekdays(), d) {
			return unknown("day", d, weekdays())
		}
	}
	for _, a := range w.List("actions") {
		if !slices.Contains(callActions(), a) {
			return unknown("action", a, callActions())
		}
	}
	return nil
}

// hoursCases are at a day of the list, and at one that is not, if there is one.
func hoursCases(w Written) []Case {
	request := Case{Skill: "some-skill", Request: "call:run"}
	if a := w.List("actions")[0]; a != ActionCall {
		k, _ := capability.Action(a).Kind()
		request.Grants = []string{k.Example}
		request.Request = exampleRequest(k.Example)
	}
	at := func(name, day string, hour int, want Effect) Case {
		c := request
		c.At = fmt.Sprintf("%s%02d:30", day, hour)
		return c.with(name, "", want, w.ID)
	}
	var all []Case
	days, from, to := w.List("days"), w.Number("from"), w.Number("to")
	for _, one := range []struct{ name, day string }{{"monday", someMonday}, {"sunday", someSunday}} {
		if !slices.Contains(days, one.name) {
			all = append(all, at("on a "+one.name, one.day, from, Deny))
			continue
		}
		all = append(all, at("in working hours, on a "+one.name, one.day, from, Allow))
		if from > 0 {
			all = append(all, at("too early, on a "+one.name, one.day, from-1, Deny))
		}
		if to < 24 {
			all = append(all, at("too late, on a "+one.name, one.day, to, Deny))
		}
	}
	return all
}

// exampleRequest is something that a capability covers: its text, with names in the places of
// patterns.
func exampleRequest(text string) string {
	text = strings.NewReplacer("**", "a", "*", "a").Replace(text)
	action, rest, _ := strings.Cut(text, ":")
	if action == string(capability.HTTP) {
		methods, address, _ := strings.Cut(rest, " ")
		method, _, _ := strings.Cut(methods, ",")
		return action + ":" + method + " " + address
	}
	return text
}

func areaCases(w Written) []Case {
	dir := w.Value("dir")
	write := func(name, file string, want Effect) Case {
		c := Case{Skill: "some-skill", Request: "fs.write:" + file, Grants: []string{"fs.write:" + file}}
		return c.with(name, "", want, w.ID)
	}
	all := []Case{
		write("below the directory", dir+"/file", Allow),
		write("beside it", dir+"-other/file", Deny),
	}
	if w.Value("skill") == "" {
		return all
	}
	id := w.ID + "." + w.Value("tool")
	call := func(name, file string, want Effect) Case {
		c := Case{Skill: w.Value("skill"), Request: "call:" + w.Value("tool"), Arguments: fmt.Appendf(nil, `{%q:%q}`, w.Value("argument"), file)}
		return c.with(name, "", want, id)
	}
	return append(all,
		call("the tool, below the directory", dir+"/file", Allow),
		call("the tool, beside it", dir+"-other/file", Deny),
		call("the tool, out of it", dir+"/../file", Deny),
	)
}
