// Command gitleaks writes the rules of gitleaks as the table that package
// secrets embeds:
//
//	go run . > ../rules.json
//
// It is a module of its own, so that what gitleaks depends on stays out of the
// program. It takes facts only: patterns, keywords, thresholds and what is
// allowed. Of allow lists it leaves out the commits and paths.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/skillet-run/skillet/host/review/findings/secrets"
)

func main() {
	b, err := table()
	if err == nil {
		_, err = os.Stdout.Write(b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write the rules:", err)
		os.Exit(1)
	}
}

// table is the table as it is embedded: a rule a line.
func table() ([]byte, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("read the rules of gitleaks: %w", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"source\":%q,\n\"allow\":%s,\n\"rules\":[\n", secrets.Source, line(allows(d.Config.Allowlists)))
	for i, id := range d.Config.OrderedRules {
		r, err := rule(d.Config.Rules[id])
		if err != nil {
			return nil, err
		}
		b.Write(line(r))
		if i < len(d.Config.OrderedRules)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes(), nil
}

// line writes a value on one line, with < and > as they are.
func line(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // structs of texts and numbers
	}
	return bytes.TrimSpace(b.Bytes())
}

func rule(r config.Rule) (secrets.Rule, error) {
	if len(r.RequiredRules) > 0 || r.SkipReport {
		return secrets.Rule{}, fmt.Errorf("rule %s depends on others, which the table cannot say", r.RuleID)
	}
	out := secrets.Rule{
		ID: r.RuleID, Description: r.Description, Group: r.SecretGroup, Entropy: r.Entropy,
		Keywords: slices.Clone(r.Keywords), Allow: allows(r.Allowlists),
	}
	if r.Regex != nil {
		out.Regex = r.Regex.String()
	}
	if r.Path != nil {
		out.Path = r.Path.String()
	}
	if out.Regex != "" && len(out.Keywords) == 0 {
		return secrets.Rule{}, fmt.Errorf("rule %s has no keywords, without which nothing is looked for", r.RuleID)
	}
	return out, nil
}

// allows takes what allow lists say about secrets, and not where they are. One
// that demands a certain path never fits.
func allows(lists []*config.Allowlist) []secrets.Allow {
	var all []secrets.Allow
	for _, l := range lists {
		and := l.MatchCondition == config.AllowlistMatchAnd
		if and && (len(l.Paths) > 0 || len(l.Commits) > 0) || len(l.Regexes)+len(l.StopWords) == 0 {
			continue
		}
		a := secrets.Allow{Target: strings.ReplaceAll(l.RegexTarget, "secret", ""), All: and}
		for _, re := range l.Regexes {
			a.Regexes = append(a.Regexes, re.String())
		}
		a.StopWords = slices.Sorted(slices.Values(l.StopWords))
		all = append(all, a)
	}
	return all
}
