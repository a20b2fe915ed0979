package findings

import (
	"encoding/json"
	"fmt"
	"net/url"
)

// The part of SARIF 2.1.0 (OASIS standard, section 3) that a report needs. The
// names are the standard's.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID        string      `json:"id"`
		Name      string      `json:"name"`
		Short     sarifText   `json:"shortDescription"`
		Full      sarifText   `json:"fullDescription"`
		Help      sarifText   `json:"help"`
		Configure sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine,omitempty"`
		StartColumn int        `json:"startColumn,omitempty"`
		ByteOffset  *int       `json:"byteOffset,omitempty"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
)

// SARIF returns the report as a log of SARIF 2.1.0, which services that show
// the findings of analysers read. version is that of this program; it may be
// empty. What the report only counts is told as a result without a place.
func (r Report) SARIF(version string) ([]byte, error) {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "skillet", Version: version, InformationURI: "https://github.com/skillet-run/skillet",
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	index := map[string]int{}
	for i, rule := range rules {
		index[rule.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule.sarif())
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, f.sarif(index[f.Rule]))
	}
	for _, m := range r.More {
		i := index[m.Rule]
		run.Results = append(run.Results, sarifResult{
			RuleID: m.Rule, RuleIndex: i, Level: level(rules[i].Severity), Locations: []sarifLocation{},
			Message: sarifText{fmt.Sprintf("%d more of these", m.Count)},
		})
	}
	b, err := json.MarshalIndent(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write findings as SARIF: %w", err)
	}
	return append(b, '\n'), nil
}

// level is the level of SARIF that a severity is.
func level(s Severity) string {
	return map[Severity]string{Info: "note", Warn: "warning", Block: "error"}[s]
}

func (r Rule) sarif() sarifRule {
	return sarifRule{
		ID: r.ID, Name: r.Title, Short: sarifText{r.Title}, Full: sarifText{r.What},
		Help: sarifText{r.Why + "\n\n" + r.Do}, Configure: sarifConfig{level(r.Severity)},
	}
}

func (f Finding) sarif(index int) sarifResult {
	region := &sarifRegion{StartLine: f.Line, StartColumn: f.Column}
	if f.Line == 0 {
		region.ByteOffset = &f.Offset
	}
	if f.Excerpt != "" {
		region.Snippet = &sarifText{f.Excerpt}
	}
	if f.Line == 0 && f.Offset == 0 {
		region = nil // it is about the file
	}
	return sarifResult{
		RuleID: f.Rule, RuleIndex: index, Level: level(f.Severity), Message: sarifText{f.Message},
		Locations: []sarifLocation{{sarifPhysical{
			Artifact: sarifArtifact{(&url.URL{Path: f.File}).EscapedPath()}, Region: region,
		}}},
	}
}
