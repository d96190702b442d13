package lint_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/repo"
	"triton/repo/lint"
)

var sampleReport = lint.Report{
	Models:  2,
	Version: "1.2.3",
	HelpURI: func(rule string) string { return "https://rules.example/" + rule },
	Rules: []repo.Rule{
		{ID: "TRN001", Severity: repo.Error, Doc: "text"},
		{ID: "TRN310", Severity: repo.Warning, Doc: "batches"},
		{ID: "TRN311", Severity: repo.Note, Doc: "waits"},
	},
	Findings: []repo.Finding{
		{
			Rule: "TRN001", Severity: repo.Error, Model: "a", File: "models/a b/config.pbtxt", Line: 3, Col: 7,
			Msg: `Expected ":", found "<100%".`, Hint: "write name: ...",
		},
		{Rule: "TRN310", Severity: repo.Warning, Model: "b", File: "models/b,c:d/1", Msg: "two\nlines"},
		{Rule: "TRN311", Severity: repo.Note, Model: "b", File: "models/b,c:d/1", Line: 1, Col: 1, Msg: "m", Hint: "h"},
	},
}

func TestWriteReport(t *testing.T) {
	t.Parallel()
	for _, format := range lint.ReportFormats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.NoError(t, lint.WriteReport(&b, format, sampleReport))
			file := filepath.Join("testdata", "report", format)
			if sharedtest.UpdateGolden() {
				require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
			if format == "json" || format == "sarif" || format == "codeclimate" {
				require.True(t, json.Valid(b.Bytes()))
			}
		})
	}
}

func TestWriteNothing(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, lint.WriteReport(&b, "text", lint.Report{Models: 1}))
	require.Equal(t, "1 model checked: no findings\n", b.String())
	b.Reset()
	require.NoError(t, lint.WriteReport(&b, "json", lint.Report{}))
	require.Contains(t, b.String(), `"findings": []`)
	b.Reset()
	require.NoError(t, lint.WriteReport(&b, "sarif", lint.Report{}))
	require.Contains(t, b.String(), `"results": []`)
	require.EqualError(t, lint.WriteReport(&b, "xml", lint.Report{}), `unknown format "xml": use one of text, json, csv, markdown, html, sarif, github, junit, checkstyle, codeclimate`)
}

func TestWriteRules(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, lint.WriteRules(&b, sampleReport.Rules))
	require.Equal(t, "TRN001  error    text\nTRN310  warning  batches\nTRN311  note     waits\n", b.String())
}

// TestExcerpt shows the line of a finding with a caret below the place.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("dims: 1 ", 30)
	text := "name: \"m\"\n\tinput { name: \"größe\" }\n" + long + "\n\x1b[31m bad: 1\n"
	at := func(line, col int) repo.Finding {
		return repo.Finding{Rule: "TRN001", Severity: repo.Error, File: "f", Line: line, Col: col, Msg: "m"}
	}
	r := lint.Report{
		Models:   1,
		Findings: []repo.Finding{at(1, 1), at(2, 16), at(3, 9), at(3, 209), at(4, 1), at(9, 1), at(1, 99), {File: "g", Line: 1, Col: 1}},
		Source: func(file string) ([]byte, error) {
			if file != "f" {
				return nil, os.ErrNotExist
			}
			return []byte(text), nil
		},
	}
	var b bytes.Buffer
	require.NoError(t, lint.WriteReport(&b, "text", r))
	file := filepath.Join("testdata", "report", "excerpt")
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
	require.NotContains(t, b.String(), "\x1b")

	b.Reset()
	r.Color = true
	require.NoError(t, lint.WriteReport(&b, "text", r))
	require.Equal(t, string(want), ansi.Strip(b.String()), "color changes nothing else")
	require.Contains(t, b.String(), "\x1b[31m^^^^", "a red caret")
}
