package report

import (
	"path/filepath"
	"testing"

	"triton/analyzer/settings"
	"triton/cmd/cli/analyze/binding/bindingtest"
	"triton/cmd/cli/clitest/golden"
)

// TestDocument keeps the list of options in docs/analyze-profile.md true.
func TestDocument(t *testing.T) {
	t.Parallel()
	r := settings.NewReport()
	options := append(r.Options(), settings.CommonOptions(&r.Mode, &r.Quiet, &r.Verbose)...)
	golden.Section(t, filepath.Join("..", "..", "..", "..", "docs", "analyze-profile.md"), "report options", bindingtest.Table(options))
}
