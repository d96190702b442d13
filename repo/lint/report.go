package lint

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"triton/pkg/ui"
	"triton/repo"
)

// Report is the result of a lint run. It is printed as text, Markdown or HTML for people, as CSV and JSON, and in the forms
// of services that show findings beside the code: SARIF 2.1.0, GitHub workflow annotations, JUnit, Checkstyle and Code
// Climate.
type Report struct {
	Findings []repo.Finding
	Rules    []repo.Rule // for SARIF
	Models   int         // how many were checked
	Version  string      // of the program
	// HelpURI returns the address of a rule's page for SARIF, empty if it has none; may be nil.
	HelpURI func(rule string) string
	// Color and Source are for text. Source returns the content of a file, of which the lines with
	// findings are shown; nil shows none.
	Color  bool
	Source func(file string) ([]byte, error)
}

// toolName is the name of the program in reports.
const toolName = "triton repo lint"

// ReportFormats returns the formats of WriteReport.
func ReportFormats() []string {
	return []string{"text", "json", "csv", "markdown", "html", "sarif", "github", "junit", "checkstyle", "codeclimate"}
}

// WriteReport prints the report in a format.
func WriteReport(w io.Writer, format string, r Report) error {
	b := bufio.NewWriter(w)
	var err error
	switch format {
	case "text":
		writeText(b, r)
	case "json":
		err = writeJSON(b, r)
	case "csv":
		err = writeCSV(b, r)
	case "markdown":
		err = ui.WriteMarkdown(b, reportDocument(r))
	case "html":
		err = ui.WriteHTML(b, reportDocument(r))
	case "sarif":
		err = writeSARIF(b, r)
	case "github":
		writeGitHub(b, r)
	case "junit":
		err = writeJUnit(b, r)
	case "checkstyle":
		err = writeCheckstyle(b, r)
	case "codeclimate":
		err = writeCodeClimate(b, r)
	default:
		return fmt.Errorf("unknown format %q: use one of %s", format, strings.Join(ReportFormats(), ", "))
	}
	if err != nil {
		return err
	}
	return b.Flush()
}

// position returns "file:line:col", or only the file of a finding without a line.
func position(f repo.Finding) string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Col)
}

// oneLine returns the message and the hint of a finding on one line.
func oneLine(f repo.Finding) string {
	if f.Hint == "" {
		return f.Msg
	}
	return strings.TrimSuffix(f.Msg, ".") + "; " + f.Hint
}

func writeJSON(w io.Writer, r Report) error {
	found := r.Findings
	if found == nil {
		found = []repo.Finding{}
	}
	return indented(w, struct {
		Version  string         `json:"version"`
		Models   int            `json:"models"`
		Findings []repo.Finding `json:"findings"`
	}{r.Version, r.Models, found})
}

var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// writeGitHub prints workflow commands, which GitHub shows beside the lines.
func writeGitHub(w io.Writer, r Report) {
	commands := [...]string{repo.Note: "notice", repo.Warning: "warning", repo.Error: "error"}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "::%s file=%s,", commands[f.Severity], githubProperty.Replace(f.File))
		if f.Line > 0 {
			fmt.Fprintf(w, "line=%d,col=%d,", f.Line, f.Col)
		}
		fmt.Fprintf(w, "title=%s::%s\n", githubProperty.Replace(f.Rule), githubData.Replace(oneLine(f)))
	}
}

// WriteRules prints the table of rules.
func WriteRules(w io.Writer, rules []repo.Rule) error {
	width := 0
	for _, r := range rules {
		width = max(width, len(r.ID))
	}
	b := bufio.NewWriter(w)
	for _, r := range slices.SortedFunc(slices.Values(rules), func(a, b repo.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		fmt.Fprintf(b, "%-*s  %-7s  %s\n", width, r.ID, r.Severity, r.Doc)
	}
	return b.Flush()
}
