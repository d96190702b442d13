package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo"
	"triton/repo/report"
)

var update = flag.Bool("update", false, "write the golden files")

var sample = report.Report{
	Models:  2,
	Version: "1.2.3",
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

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, format := range report.Formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.NoError(t, report.Write(&b, format, sample))
			golden := filepath.Join("testdata", format)
			if *update {
				require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
			if format == "json" || format == "sarif" {
				require.True(t, json.Valid(b.Bytes()))
			}
		})
	}
}

func TestWriteNothing(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, "text", report.Report{Models: 1}))
	require.Equal(t, "1 model checked: no findings\n", b.String())
	b.Reset()
	require.NoError(t, report.Write(&b, "json", report.Report{}))
	require.Contains(t, b.String(), `"findings": []`)
	b.Reset()
	require.NoError(t, report.Write(&b, "sarif", report.Report{}))
	require.Contains(t, b.String(), `"results": []`)
	require.EqualError(t, report.Write(&b, "xml", report.Report{}), `unknown format "xml": use one of text, json, csv, markdown, html, sarif, github`)
}

func TestRules(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, report.Rules(&b, sample.Rules))
	require.Equal(t, "TRN001  error    text\nTRN310  warning  batches\nTRN311  note     waits\n", b.String())
}
