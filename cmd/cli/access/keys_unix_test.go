//go:build unix

package access

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOwnerStays: a file that an administrator changes stays readable for the user of the server,
// which would otherwise keep the keys that were revoked.
func TestOwnerStays(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	file := filepath.Join(t.TempDir(), "keys")
	_, err := command(t, "add", "alice", "-f", file)
	require.NoError(t, err)
	require.NoError(t, os.Chown(file, 1234, 5678))
	require.NoError(t, os.Chmod(file, 0o640))
	_, err = command(t, "revoke", "alice", "-f", file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	require.Equal(t, [2]uint32{1234, 5678}, [2]uint32{owner.Uid, owner.Gid})
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
}

// TestLink: the file behind a link changes, which servers may read by its own name.
func TestLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "keys"), filepath.Join(dir, "link")
	key, err := command(t, "add", "alice", "-f", file)
	require.NoError(t, err)
	require.NoError(t, os.Symlink("keys", link))
	_, err = command(t, "revoke", "alice", "-f", link)
	require.NoError(t, err)
	require.False(t, finds(t, file, key))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
}
