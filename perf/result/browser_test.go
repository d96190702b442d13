package result_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf/result"
)

// TestBrowser opens pages of one, two and three runs in headless Chromium: light and dark, wide and narrow, with keys
// and without scripts, and checks its accessibility with axe. `make browser-test` installs what
// it needs into the folder of TRITON_BROWSER and sets TRITON_BROWSER.
func TestBrowser(t *testing.T) {
	dir := os.Getenv("TRITON_BROWSER")
	if dir == "" {
		t.Skip("TRITON_BROWSER names no folder with Chromium; make browser-test makes one")
	}
	folder := t.TempDir()
	var pages []string
	for name, runs := range map[string][]result.Run{"runs": runs(), "two": repeated(1.3), "one": repeated(1)[:1]} {
		page := filepath.Join(folder, name+".html")
		f, err := os.Create(page)
		require.NoError(t, err)
		require.NoError(t, result.WritePage(f, runs, result.PageOptions{Version: "1.2"}))
		require.NoError(t, f.Close())
		pages = append(pages, page)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "browser", "check.mjs"))
	require.NoError(t, err)
	// The packages are found beside the script.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "check.mjs"), script, 0o600))
	screenshots := "-"
	if named := os.Getenv("TRITON_BROWSER_SCREENSHOTS"); named != "" {
		screenshots = named
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(dir, "check.mjs"), screenshots}, pages...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}
