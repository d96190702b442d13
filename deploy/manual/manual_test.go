package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	require.NoError(t, run([]string{dir, "1.2.3", "1700000000"}))
	for name, want := range map[string]string{
		"triton.1": "triton", "triton-serve.1": "variable TRITON_SERVE_<FLAG>", "triton-perf.1": "concurrency-range", "triton-repo-lint.1": "lint",
	} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(page), want, name)
		require.Contains(t, string(page), `"Nov 2023" "triton 1.2.3"`, name)
	}
	require.ErrorContains(t, run(nil), "usage")
	require.ErrorContains(t, run([]string{dir, "1", "yesterday"}), "time in seconds")
}
