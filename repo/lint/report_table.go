package lint

import (
	"encoding/csv"
	"io"
	"strconv"

	"triton/pkg/ui"
	"triton/repo"
)

// reportDocument is the table of the findings with a summary.
func reportDocument(r Report) ui.Document {
	d := ui.Document{
		Title: "triton repo lint",
		Notes: []string{ui.Plural(r.Models, "model") + " checked: " + reportSummary(r.Findings)},
	}
	for _, title := range []string{"Place", "Severity", "Rule", "Message", "Hint"} {
		d.Columns = append(d.Columns, ui.Column{Title: title})
	}
	for _, f := range r.Findings {
		d.Rows = append(d.Rows, []string{position(f), f.Severity.String(), f.Rule, f.Msg, f.Hint})
	}
	return d
}

// writeCSV prints one line per finding. Lines and columns that are not known are empty.
func writeCSV(w io.Writer, r Report) error {
	lines := [][]string{{"file", "line", "column", "severity", "rule", "message", "hint"}}
	for _, f := range r.Findings {
		lines = append(lines, csvLine(f))
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func csvLine(f repo.Finding) []string {
	line, col := "", ""
	if f.Line > 0 {
		line, col = strconv.Itoa(f.Line), strconv.Itoa(f.Col)
	}
	return []string{f.File, line, col, f.Severity.String(), f.Rule, f.Msg, f.Hint}
}
