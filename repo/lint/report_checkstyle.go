package lint

import (
	"encoding/xml"
	"io"
	"path/filepath"

	"triton/repo"
)

// The elements of Checkstyle's XML.
type (
	checkstyleReport struct {
		XMLName xml.Name         `xml:"checkstyle"`
		Version string           `xml:"version,attr"`
		Files   []checkstyleFile `xml:"file"`
	}
	checkstyleFile struct {
		Name   string            `xml:"name,attr"`
		Errors []checkstyleError `xml:"error"`
	}
	checkstyleError struct {
		Line     int    `xml:"line,attr"` // required; 0 is the file
		Column   int    `xml:"column,attr,omitempty"`
		Severity string `xml:"severity,attr"`
		Message  string `xml:"message,attr"`
		Source   string `xml:"source,attr"`
	}
)

// checkstyleVersion is the version of Checkstyle that first had this form of the report.
const checkstyleVersion = "4.3"

func writeCheckstyle(w io.Writer, r Report) error {
	severities := [...]string{repo.Note: "info", repo.Warning: "warning", repo.Error: "error"}
	all := checkstyleReport{Version: checkstyleVersion}
	for _, group := range byFile(r.Findings) {
		file := checkstyleFile{Name: filepath.ToSlash(group[0].File)}
		for _, f := range group {
			file.Errors = append(file.Errors, checkstyleError{
				Line: f.Line, Column: f.Col, Severity: severities[f.Severity], Message: printable(oneLine(f)), Source: "triton." + f.Rule,
			})
		}
		all.Files = append(all.Files, file)
	}
	return writeXML(w, all)
}
