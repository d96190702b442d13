package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// The limits of a digest, so that it is seen as a whole.
const (
	mostLines = 90  // of all failures together
	mostOfOne = 20  // lines of one failure
	mostWidth = 400 // bytes of a line
)

// failure is one thing that went wrong.
type failure struct {
	where string // package
	title string
	lines []string
}

var (
	testEnds     = regexp.MustCompile(`^\s*--- (FAIL|PASS|SKIP): `)
	testFails    = regexp.MustCompile(`^\s*--- FAIL: (.*)$`)
	packageEnds  = regexp.MustCompile(`^(ok  |FAIL|\?   )\t(\S+)`)
	beginsOthers = regexp.MustCompile(`^(panic: |fatal error: |WARNING: DATA RACE|# )`)
	noise        = regexp.MustCompile(`^(FAIL|PASS|=+|exit status \d+|=== .*)$`)
)

// scan finds the failures in the output of go test.
type scan struct {
	all []failure
	// Of the package whose output is read: its failures, all its lines, and whether the last failure goes on.
	found []failure
	since []string
	open  bool
}

func (s *scan) take(line string) {
	if end := packageEnds.FindStringSubmatch(line); end != nil {
		s.endPackage(end[1] == "FAIL", end[2], line)
		return
	}
	s.since = append(s.since, line)
	if test := testFails.FindStringSubmatch(line); test != nil {
		s.found, s.open = append(s.found, failure{title: test[1]}), true
		return
	}
	if beginsOthers.MatchString(line) {
		s.found, s.open = append(s.found, failure{title: line}), true
		return
	}
	if testEnds.MatchString(line) || noise.MatchString(line) {
		s.open = s.open && !testEnds.MatchString(line) && line != "FAIL" && line != "PASS"
		return
	}
	if s.open && strings.TrimSpace(line) != "" {
		last := &s.found[len(s.found)-1]
		last.lines = append(last.lines, line)
	}
}

// endPackage keeps the failures of a package. One that failed without a word that is known here, as with an
// exit code of its own, is told with the last lines of its output.
func (s *scan) endPackage(failed bool, name, line string) {
	if failed && len(s.found) == 0 {
		s.found = []failure{{title: line, lines: s.since[max(0, len(s.since)-mostOfOne):]}}
	}
	for i, f := range s.found {
		f.where = name
		test, _, _ := strings.Cut(f.title, " ")
		parent := i+1 < len(s.found) && len(f.lines) == 0 && strings.HasPrefix(s.found[i+1].title, test+"/")
		if failed && !parent {
			s.all = append(s.all, f)
		}
	}
	s.found, s.since, s.open = nil, nil, false
}

// digest writes the failures of the output in r to w.
func digest(w io.Writer, r io.Reader) error {
	var s scan
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			s.take(strings.TrimRight(line, "\r\n"))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("read the output of the tests: %w", err)
		}
	}
	told := func(line string) bool { return line != "" && !noise.MatchString(line) }
	if slices.ContainsFunc(s.since, told) { // no package, as with a wrong flag, or the end is missing
		s.endPackage(true, "?", "the output ends here")
	}
	return writeFailures(w, s.all)
}

func writeFailures(w io.Writer, all []failure) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n======== %d failed; the whole output is above ========\n", len(all))
	left := mostLines
	for i, f := range all {
		if left < 3 {
			fmt.Fprintf(&b, "and %d more\n", len(all)-i)
			break
		}
		fmt.Fprintln(&b, cut("FAIL "+f.where+": "+f.title))
		most := min(len(f.lines), mostOfOne, left-2)
		for _, line := range f.lines[:most] {
			fmt.Fprintln(&b, cut(line))
		}
		if n := len(f.lines) - most; n > 0 {
			fmt.Fprintf(&b, "    ... %d more lines\n", n)
		}
		left -= most + 2
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cut shortens a long line.
func cut(line string) string {
	if len(line) <= mostWidth {
		return line
	}
	return fmt.Sprintf("%s ... (%d more bytes)", strings.ToValidUTF8(line[:mostWidth], ""), len(line)-mostWidth)
}
