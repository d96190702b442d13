package lint

import (
	"encoding/json"
	"io"
	"path/filepath"

	"triton/repo"
)

// codeClimateIssue is an issue of Code Climate's form, with the fields that GitLab's code quality
// report requires.
type codeClimateIssue struct {
	Type        string              `json:"type"`
	CheckName   string              `json:"check_name"`
	Description string              `json:"description"`
	Categories  []string            `json:"categories"`
	Severity    string              `json:"severity"`
	Fingerprint string              `json:"fingerprint"`
	Location    codeClimateLocation `json:"location"`
}

type codeClimateLocation struct {
	Path  string           `json:"path"`
	Lines codeClimateLines `json:"lines"`
}

type codeClimateLines struct {
	Begin int `json:"begin"`
	End   int `json:"end"`
}

func writeCodeClimate(w io.Writer, r Report) error {
	severities := [...]string{repo.Note: "info", repo.Warning: "minor", repo.Error: "critical"}
	ids := repo.Fingerprints(r.Findings)
	issues := make([]codeClimateIssue, 0, len(r.Findings))
	for i, f := range r.Findings {
		category := "Bug Risk"
		if f.Severity == repo.Note {
			category = "Style"
		}
		line := max(f.Line, 1) // a finding about a file is at its first line
		issues = append(issues, codeClimateIssue{
			Type: "issue", CheckName: f.Rule, Description: oneLine(f), Categories: []string{category},
			Severity: severities[f.Severity], Fingerprint: ids[i],
			// GitLab wants paths without "./" in front.
			Location: codeClimateLocation{Path: filepath.ToSlash(filepath.Clean(f.File)), Lines: codeClimateLines{line, line}},
		})
	}
	return indented(w, issues)
}

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
