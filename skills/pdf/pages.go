package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxPages is the greatest number of pages of one file that are looked at.
	maxPages = 200_000
	// maxTreeDepth bounds the page tree; balanced trees are under ten deep.
	maxTreeDepth = 64
)

// page is one leaf of the page tree, with what it inherits.
type page struct {
	entries   dict
	resources object
}

// treeWalk collects the pages of a tree, each inner node at most once: a
// damaged or hostile tree has cycles.
type treeWalk struct {
	doc   *document
	seen  map[int]bool
	pages []page
}

// pages returns the pages in reading order. When the tree is broken it returns
// every page object in the file in the order of object numbers.
func (d *document) pages() []page {
	if d.leaves != nil {
		return d.leaves
	}
	w := treeWalk{doc: d, seen: map[int]bool{}}
	w.node(d.catalog()["Pages"], nil, 0)
	if len(w.pages) == 0 {
		w.strays()
	}
	d.leaves = w.pages
	return w.pages
}

func (w *treeWalk) node(o, resources object, depth int) {
	node := w.doc.dict(o)
	if node == nil || depth > maxTreeDepth || len(w.pages) >= maxPages || !w.doc.work.spend(1) {
		return
	}
	if own, ok := node["Resources"]; ok {
		resources = own
	}
	kids, inner := node["Kids"]
	if !inner && w.doc.name(node["Type"]) != "Pages" {
		w.pages = append(w.pages, page{entries: node, resources: resources})
		return
	}
	if n := objectNumber(o); n != 0 {
		if w.seen[n] {
			return
		}
		w.seen[n] = true
	}
	for _, kid := range w.doc.array(kids) {
		w.node(kid, resources, depth+1)
	}
}

func (w *treeWalk) strays() {
	for _, n := range w.doc.objects.numbers() {
		entries := w.doc.dict(ref(n))
		if w.doc.name(entries["Type"]) == "Page" && len(w.pages) < maxPages {
			w.pages = append(w.pages, page{entries: entries, resources: entries["Resources"]})
		}
	}
}

// span is a run of page numbers, both ends included, counted from 1.
type span struct {
	first, last int
}

// parsePages reads a page selection such as "1-3,8,12-": numbers and ranges
// with commas between, in ascending order or not. An empty selection is every
// page. last is the number of pages; ranges are cut to it.
func parsePages(selection string, last int) ([]span, error) {
	if strings.TrimSpace(selection) == "" {
		return []span{{1, last}}, nil
	}
	var spans []span
	for part := range strings.SplitSeq(selection, ",") {
		s, err := parseSpan(strings.TrimSpace(part), last)
		if err != nil {
			return nil, err
		}
		if s.first > last {
			return nil, fmt.Errorf("pages: %q is beyond the last page, %d", part, last)
		}
		spans = append(spans, s)
	}
	return merge(spans), nil
}

func parseSpan(part string, last int) (span, error) {
	from, to, isRange := strings.Cut(part, "-")
	first, err := parsePage(from, 1, part)
	if err != nil {
		return span{}, err
	}
	if !isRange {
		to = from
	}
	end, err := parsePage(to, last, part)
	if err != nil {
		return span{}, err
	}
	if end < first && to != "" {
		return span{}, fmt.Errorf("pages: %q ends before it begins", part)
	}
	return span{first, min(end, last)}, nil
}

func parsePage(s string, otherwise int, part string) (int, error) {
	s = strings.TrimSpace(s)
	if s == "" && part != "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("pages: %q is not a page or a range; write for example \"1-3,8,12-\"", part)
	}
	return n, nil
}

// merge sorts spans and joins those that overlap, so that no page comes twice.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.first - b.first })
	out := spans[:1]
	for _, s := range spans[1:] {
		if tail := &out[len(out)-1]; s.first <= tail.last+1 {
			tail.last = max(tail.last, s.last)
			continue
		}
		out = append(out, s)
	}
	return out
}
