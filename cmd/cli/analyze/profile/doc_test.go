package profile

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
	p := settings.NewProfile()
	options := append(p.Options(), settings.CommonOptions(&p.Mode, &p.Quiet, &p.Verbose)...)
	golden.Section(t, filepath.Join("..", "..", "..", "..", "docs", "analyze-profile.md"), "profile options", bindingtest.Table(options))
}
