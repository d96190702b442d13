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
		Output  string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// writeJUnit writes figures that fail as failures, and those without a verdict as skipped. The others pass, each
// with its verdict as output: an undecided one is not shown to be worse.
func writeJUnit(w io.Writer, c *Comparison) error {
	s := junitSuite{Name: "triton perf compare", Tests: len(c.Differences), Output: joinWords(c.Headline, c.Next, c.Gate)}
	for i := range c.Differences {
		d := &c.Differences[i]
		one := junitCase{Name: d.Figure, Class: levelText(d.Mode, d.BatchSize, d.Load)}
		switch {
		case d.Failed:
			s.Failures++
			one.Failure = &junitMessage{figuresText(d)}
		case d.Verdict == NoVerdict:
			s.Skipped++
			one.Skipped = &junitMessage{"no verdict: " + d.Note}
		default:
			one.Output = figuresText(d)
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

// figuresText is the verdict of a figure with what it rests on.
func figuresText(d *Difference) string {
	return fmt.Sprintf("%s: %s in A, %s in B, a change in %% of %s", d.Verdict, short(d.A), short(d.B), changeText(d))
}
