package result_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf/result"
)

// TestBrowser opens the page in headless Chromium: light and dark, wide and narrow, with keys
// and without scripts, and checks its accessibility with axe. `make browser-test` installs what
// it needs into the folder of TRITON_BROWSER and sets TRITON_BROWSER.
func TestBrowser(t *testing.T) {
	dir := os.Getenv("TRITON_BROWSER")
	if dir == "" {
		t.Skip("TRITON_BROWSER names no folder with Chromium; make browser-test makes one")
	}
	page := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(page)
	require.NoError(t, err)
	require.NoError(t, result.WritePage(f, runs(), result.PageOptions{Version: "1.2"}))
	require.NoError(t, f.Close())
	script, err := os.ReadFile(filepath.Join("testdata", "browser", "check.mjs"))
	require.NoError(t, err)
	// The packages are found beside the script.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "check.mjs"), script, 0o600))
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "check.mjs"), page)
	if folder := os.Getenv("TRITON_BROWSER_SCREENSHOTS"); folder != "" {
		cmd.Args = append(cmd.Args, folder)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}
