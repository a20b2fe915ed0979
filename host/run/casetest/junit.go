package casetest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of a JUnit report, as Jenkins, GitLab and GitHub read them.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		File      string        `xml:"file,attr,omitempty"`
		Line      int           `xml:"line,attr,omitempty"`
		Time      string        `xml:"time,attr"`
		Failure   *junitMessage `xml:"failure,omitempty"`
		Error     *junitMessage `xml:"error,omitempty"`
		Skipped   *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes reports as JUnit XML, a test suite for each file of cases.
func WriteJUnit(w io.Writer, reports ...Report) error {
	var all junitSuites
	var ms float64
	for _, r := range reports {
		all.Tests += len(r.Results) + len(r.Problems)
		all.Failures += r.Failed
		all.Errors += len(r.Problems)
		all.Skipped += r.Skipped
		ms += r.DurationMS
		all.Suites = append(all.Suites, r.junit()...)
	}
	all.Time = inSeconds(ms)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junit is one suite for each file.
func (r Report) junit() []junitSuite {
	var suites []junitSuite
	var ms float64
	for _, x := range r.Results {
		name := r.Skill + "/" + x.File
		if len(suites) == 0 || suites[len(suites)-1].Name != name {
			suites, ms = append(suites, junitSuite{Name: name}), 0
		}
		s := &suites[len(suites)-1]
		s.Tests++
		ms += x.DurationMS
		s.Time = inSeconds(ms)
		s.add(x, r.Skill)
	}
	for _, p := range r.Problems {
		suites = append(suites, junitSuite{
			Name: r.Skill, Tests: 1, Errors: 1, Time: inSeconds(0),
			Cases: []junitCase{{Name: "read the test cases", ClassName: r.Skill, Time: inSeconds(0), Error: &junitMessage{firstLine(p), p}}},
		})
	}
	return suites
}

func (s *junitSuite) add(x Result, skill string) {
	c := junitCase{Name: x.Name, ClassName: skill + "." + x.Tool, File: x.File, Line: x.Line, Time: inSeconds(x.DurationMS)}
	switch x.Outcome {
	case Failed:
		s.Failures++
		c.Failure = &junitMessage{x.Detail, strings.Join(x.Lines(), "\n")}
	case Skipped:
		s.Skipped++
		c.Skipped = &junitMessage{Message: x.Detail}
	}
	s.Cases = append(s.Cases, c)
}

func inSeconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// Lines say in which ways a case did not come to what was expected.
func (r Result) Lines() []string {
	var lines []string
	for _, d := range r.Differences {
		if len(d.Diff) == 0 {
			lines = append(lines, d.Path+":", "  expected "+d.Expected, "  got      "+d.Got)
			continue
		}
		lines = append(lines, d.Path+": (- expected, + got)")
		for _, l := range d.Diff {
			lines = append(lines, "  "+l)
		}
	}
	if len(lines) == 0 && r.Outcome == Failed {
		lines = []string{r.Detail}
	}
	return lines
}
