package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBrowser opens a summary and a detailed report in headless Chromium: light and dark, wide and
// narrow. It checks their charts, their contrast and, with axe, their accessibility. `make
// browser-test` installs what it needs into the folder of TRITON_BROWSER and sets TRITON_BROWSER.
func TestBrowser(t *testing.T) {
	dir := os.Getenv("TRITON_BROWSER")
	if dir == "" {
		t.Skip("TRITON_BROWSER names no folder with Chromium; make browser-test makes one")
	}
	out := t.TempDir()
	p := defaults(out)
	p.Formats = nil
	require.NoError(t, WriteProfile(single(), p))
	script, err := os.ReadFile(filepath.Join("testdata", "browser", "check.mjs"))
	require.NoError(t, err)
	// The packages are found beside the script.
	at := filepath.Join(dir, "check-analyze.mjs")
	require.NoError(t, os.WriteFile(at, script, 0o600))
	folder := "-"
	if named := os.Getenv("TRITON_BROWSER_SCREENSHOTS"); named != "" {
		folder = named
	}
	text, err := exec.CommandContext(t.Context(), "node", at, folder,
		filepath.Join(out, "reports", "summaries", "resnet", "result_summary.html"),
		filepath.Join(out, "reports", "detailed", "resnet_config_0", "detailed_report.html")).CombinedOutput()
	require.NoError(t, err, "%s", text)
	t.Logf("%s", text)
}
