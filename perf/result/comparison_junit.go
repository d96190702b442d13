package result

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The elements of JUnit's XML that CI servers read. A figure of a level is a test case.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Output   string      `xml:"system-out"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// writeJUnit writes figures that fail as failures, and those without a verdict as skipped.
func writeJUnit(w io.Writer, c *Comparison) error {
	s := junitSuite{Name: "triton perf compare", Tests: len(c.Differences), Output: c.Headline}
	for i := range c.Differences {
		d := &c.Differences[i]
		one := junitCase{Name: d.Figure, Class: levelText(d.Mode, d.BatchSize, d.Load)}
		switch {
		case d.Failed:
			s.Failures++
			one.Failure = &junitMessage{fmt.Sprintf("%s: %s in A, %s in B, a change of %s %% (%s)", d.Verdict, short(d.A), short(d.B), percentNumber(d.Change), intervalText(d))}
		case d.Verdict == NoVerdict:
			s.Skipped++
			one.Skipped = &junitMessage{"no verdict: " + d.Note}
		}
		s.Cases = append(s.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
