//go:build unix

package modelconfig_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
)

// TestPipe: a named pipe has no hash; to open it would wait for ever.
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	c, err := modelconfig.Parse("config.pbtxt", []byte(`model_repository_agents { agents { name: "checksum" parameters { key: "MD5:pipe" value: "00" } } }`))
	require.NoError(t, err)
	found := modelconfig.RunAgents(c, os.DirFS(dir))
	require.Len(t, found, 1)
	require.Equal(t, "failed to open text file for read pipe: not a regular file", found[0].Msg)
}
