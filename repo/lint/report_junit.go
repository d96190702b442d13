package lint

import (
	"encoding/xml"
	"io"
	"path/filepath"

	"triton/repo"
)

// The elements of JUnit's XML that CI servers read. A file is a suite, a finding a failed test.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
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
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// noTime is the duration of a test that is not measured.
const noTime = "0"

// writeJUnit prints the findings as failed tests. Without findings there is one test that passed, since
// some servers take a report without tests for a run that broke.
func writeJUnit(w io.Writer, r Report) error {
	all := junitSuites{Name: toolName, Tests: len(r.Findings), Failures: len(r.Findings)}
	for _, group := range byFile(r.Findings) {
		s := junitSuite{Name: filepath.ToSlash(group[0].File), Tests: len(group), Failures: len(group), Time: noTime}
		for _, f := range group {
			s.Cases = append(s.Cases, junitCase{
				Name: f.Rule, Class: filepath.ToSlash(f.File), File: filepath.ToSlash(f.File), Line: f.Line, Time: noTime,
				Failure: &junitFailure{Type: f.Severity.String(), Message: printable(oneLine(f)), Text: printable(position(f) + ": " + oneLine(f))},
			})
		}
		all.Suites = append(all.Suites, s)
	}
	if len(r.Findings) == 0 {
		all.Tests = 1
		all.Suites = []junitSuite{{Name: toolName, Tests: 1, Time: noTime, Cases: []junitCase{{Name: "no findings", Class: toolName, Time: noTime}}}}
	}
	return writeXML(w, all)
}

// byFile groups findings that follow each other in the same file.
func byFile(found []repo.Finding) [][]repo.Finding {
	var groups [][]repo.Finding
	for i, f := range found {
		if i == 0 || f.File != found[i-1].File {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], f)
	}
	return groups
}

func writeXML(w io.Writer, v any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
