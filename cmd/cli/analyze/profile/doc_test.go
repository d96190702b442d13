package profile

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"triton/analyzer/settings"
	"triton/pkg/sharedtest"
)

// TestDocument keeps the list of options in docs/analyze-profile.md true.
func TestDocument(t *testing.T) {
	t.Parallel()
	p := settings.NewProfile()
	options := append(p.Options(), settings.CommonOptions(&p.Mode, &p.Quiet, &p.Verbose)...)
	sharedtest.GoldenSection(t, filepath.Join("..", "..", "..", "..", "docs", "analyze-profile.md"), "profile options", optionTable(options))
}

// optionTable returns the options as a Markdown table.
func optionTable(options []settings.Option) string {
	var s strings.Builder
	s.WriteString("| Key | Flag | Default | Effect |\n|---|---|---|---|\n")
	for _, o := range options {
		flag := "file only"
		if o.Flag != "" {
			flag = "`--" + o.Flag + "`"
		}
		if o.Short != "" {
			flag = "`-" + o.Short + "`, " + flag
		}
		key := "flag only"
		if o.Key != "" {
			key = "`" + o.Key + "`"
		}
		initial := o.Value.String()
		if initial != "" {
			initial = "`" + strings.ReplaceAll(initial, ",", ", ") + "`"
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", key, flag, initial, sharedtest.GoldenCell(o.Usage))
	}
	return s.String()
}

// TestReportDocument keeps the list of options in docs/analyze-profile.md true.
func TestReportDocument(t *testing.T) {
	t.Parallel()
	r := settings.NewReport()
	options := append(r.Options(), settings.CommonOptions(&r.Mode, &r.Quiet, &r.Verbose)...)
	sharedtest.GoldenSection(t, filepath.Join("..", "..", "..", "..", "docs", "analyze-profile.md"), "report options", optionTable(options))
}
