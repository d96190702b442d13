package repo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo"
)

// TestFingerprints keeps the ids apart from lines, and equal findings apart from each other.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	one := repo.Finding{Rule: "TRN001", File: "models/m/config.pbtxt", Line: 3, Col: 4, Msg: "open models/m/labels.txt"}
	moved, other, spelled := one, one, one
	moved.Line, moved.Col, moved.Severity, moved.Hint = 9, 1, repo.Error, "h"
	other.Msg = "b"
	spelled.File = "./models//m/config.pbtxt"
	a := repo.Fingerprints([]repo.Finding{one, other})
	b := repo.Fingerprints([]repo.Finding{other, moved, one})
	require.Equal(t, a[0], b[1])
	require.Equal(t, a[1], b[0])
	require.NotEqual(t, b[1], b[2], "the second of two equal findings")
	require.Len(t, a[0], 32)
	require.Equal(t, a[0], repo.Fingerprints([]repo.Finding{spelled})[0])
	copied := one
	copied.File, copied.Msg = "other/m/config.pbtxt", "open other/m/labels.txt"
	require.NotEqual(t, a[0], repo.Fingerprints([]repo.Finding{copied})[0], "another file")
}
