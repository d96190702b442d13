package lint

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"triton/repo"
)

// The part of the SARIF 2.1.0 schema that is used.
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
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string    `json:"id"`
		HelpURI string    `json:"helpUri,omitempty"`
		Doc     sarifText `json:"shortDescription"`
		Default struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
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
		// Fingerprints stay the same when lines move.
		Fingerprints map[string]string `json:"partialFingerprints"`
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
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
)

func writeSARIF(w io.Writer, r Report) error {
	driver := sarifDriver{Name: "triton", Version: r.Version, Rules: []sarifRule{}}
	for _, rule := range r.Rules {
		s := sarifRule{ID: rule.ID, Doc: sarifText{rule.Doc}}
		s.Default.Level = rule.Severity.String()
		if r.HelpURI != nil {
			s.HelpURI = r.HelpURI(rule.ID)
		}
		driver.Rules = append(driver.Rules, s)
	}
	results := make([]sarifResult, 0, len(r.Findings))
	ids := repo.Fingerprints(r.Findings)
	for i, f := range r.Findings {
		results = append(results, sarifFinding(f, r.Rules, ids[i]))
	}
	return indented(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "utf16CodeUnits", Results: results}},
	})
}

func sarifFinding(f repo.Finding, rules []repo.Rule, id string) sarifResult {
	physical := sarifPhysical{Artifact: sarifArtifact{fileURI(f.File)}}
	if f.Line > 0 {
		physical.Region = &sarifRegion{f.Line, f.Col}
	}
	return sarifResult{
		RuleID:    f.Rule,
		RuleIndex: slices.IndexFunc(rules, func(r repo.Rule) bool { return r.ID == f.Rule }),
		Level:     f.Severity.String(),
		Message:   sarifText{oneLine(f)},
		Locations: []sarifLocation{{physical}},

		Fingerprints: map[string]string{"triton/v1": id},
	}
}

// fileURI returns a relative reference for a relative path, as code scanning wants.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
