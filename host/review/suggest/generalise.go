package suggest

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/policies/capability"
)

// generalise makes capabilities of requests, as the package comment says.
func generalise(rs []capability.Request) []capability.Capability {
	groups := map[string][]string{} // requests that may be put together: their paths
	var cs []capability.Capability
	for _, r := range rs {
		kind, p, ok := group(r)
		switch {
		case ok:
			groups[kind] = append(groups[kind], p)
		default:
			if c, err := r.Capability(); err == nil {
				cs = append(cs, c)
			}
		}
	}
	urls := map[string][]string{} // methods, by URL pattern
	for _, kind := range slices.Sorted(maps.Keys(groups)) {
		method, site, isURL := strings.Cut(kind, " ")
		for _, p := range patterns(groups[kind], isURL) {
			if isURL {
				urls[site+p] = append(urls[site+p], method)
			} else {
				cs = add(cs, kind+":"+p)
			}
		}
	}
	for _, u := range slices.Sorted(maps.Keys(urls)) {
		cs = add(cs, "http:"+strings.Join(urls[u], ",")+" "+u)
	}
	return cs
}

// add appends a capability when the text is one: a path may be too long for it.
// What is then missing is noticed by whoever compares with the requests.
func add(cs []capability.Capability, text string) []capability.Capability {
	if c, err := capability.Parse(text); err == nil {
		return append(cs, c)
	}
	return cs
}

// group says with which others a request may be put together, and its path. It
// is false for one that stands for itself.
func group(r capability.Request) (kind, p string, ok bool) {
	switch r.Action.Shape() {
	case capability.ShapePath:
		return string(r.Action), r.Resource, true
	case capability.ShapeURL:
		end, err := r.Endpoint()
		if err != nil {
			return "", "", false
		}
		p, end.Path = end.Path, ""
		return end.Method + " " + end.URL(), p, true
	}
	return "", "", false
}

// patterns are path patterns for paths: each path, or its directory when that
// has many, or the parent of many such directories. In a URL pattern the star
// at the end takes in what is deeper too.
func patterns(paths []string, isURL bool) []string {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	dirs, full := map[string][]string{}, map[string][]string{}
	for _, p := range paths {
		if dir := path.Dir(p); isURL || !strings.Contains(dir, "*") { // which would be a pattern
			dirs[dir] = append(dirs[dir], p)
		}
	}
	var all []string
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		named := slices.ContainsFunc(dirs[dir], func(p string) bool { return !isURL && strings.Contains(p, "*") })
		switch {
		case len(dirs[dir]) >= Many || named:
			full[path.Dir(dir)] = append(full[path.Dir(dir)], below(dir, "*"))
		default:
			all = append(all, dirs[dir]...)
		}
	}
	deep := "**"
	if isURL {
		deep = "*"
	}
	for _, dir := range slices.Sorted(maps.Keys(full)) {
		if len(full[dir]) >= Many {
			all = append(all, below(dir, deep))
		} else {
			all = append(all, full[dir]...)
		}
	}
	return all
}

func below(dir, pattern string) string {
	if dir == "/" {
		return "/" + pattern
	}
	return dir + "/" + pattern
}
