package access

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/server/access"
)

// command runs the command and returns what it prints and its error.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := NewCommand(process.Process{Stdout: &out, Stderr: &out})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// finds reports whether a server would accept a key.
func finds(t *testing.T, file, key string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	entries, err := access.ParseAPIKeys(text)
	require.NoError(t, err)
	_, _, ok := access.NewAPIKeys(entries).Find(strings.TrimSpace(key), time.Now())
	return ok
}

func TestKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	first, err := command(t, "add", "alice", "-f", file)
	require.NoError(t, err)
	second, err := command(t, "add", "alice", "-f", file, "--valid", "1h")
	require.NoError(t, err)
	third, err := command(t, "add", "bob", "-f", file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	list, err := command(t, "list", "-f", file)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(list, "\n"))
	require.Equal(t, 2, strings.Count(list, "alice"))
	for _, key := range []string{first, second, third} {
		require.True(t, finds(t, file, key))
		require.NotContains(t, list, strings.TrimSpace(key))
	}
	id := strings.Fields(strings.Split(list, "\n")[3])[0]
	out, err := command(t, "revoke", id, "-f", file)
	require.NoError(t, err)
	require.Equal(t, "revoked 1\n", out)
	require.False(t, finds(t, file, third))
	out, err = command(t, "revoke", "alice", "-f", file)
	require.NoError(t, err)
	require.Equal(t, "revoked 2\n", out)
	_, err = command(t, "revoke", "alice", "-f", file)
	require.ErrorContains(t, err, `has no key with the ID or owner "alice"`)
	_, err = command(t, "add", "a b", "-f", file)
	require.ErrorContains(t, err, "owner")
	_, err = command(t, "add", "alice", "-f", file, "--valid=-1h")
	require.ErrorContains(t, err, "--valid is -1h0m0s", "a key that never expires")
	_, err = command(t, "add", "alice")
	require.ErrorContains(t, err, "--api-keys is missing")
	_, err = command(t, "list", "-f", file+".none")
	require.Error(t, err)
}

// TestAtTheSameTime: keys that are made at the same time are all kept.
func TestAtTheSameTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if _, err := command(t, "add", "x", "-f", file); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	list, err := command(t, "list", "-f", file)
	require.NoError(t, err)
	require.Equal(t, 9, strings.Count(list, "\n"))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy")
	require.NoError(t, os.WriteFile(file, []byte("rules:\n- who: ['jwt-group:a']\n  allow: [infer]\n  models: ['a-*']\n"), 0o600))
	out, err := command(t, "check", "--access-policy", file)
	require.NoError(t, err)
	require.Equal(t, "ok\n", out)
	out, err = command(t, "check", "--access-policy", file, "--who", "jwt:x,jwt-group:a")
	require.NoError(t, err)
	require.Contains(t, out, "infer          some models\n")
	require.Contains(t, out, "load           no\n")
	out, err = command(t, "check", "--access-policy", file, "--who", "jwt:x,jwt-group:a", "--action", "infer", "-m", "a-1")
	require.NoError(t, err)
	require.Equal(t, "allowed\n", out)
	_, err = command(t, "check", "--access-policy", file, "--who", "jwt:x", "--action", "infer", "-m", "a-1")
	require.ErrorContains(t, err, "jwt:x may not infer a-1")
	_, err = command(t, "check", "--access-policy", file, "--who", "jwt:x", "--action", "run")
	require.ErrorContains(t, err, "unknown action")
	require.NoError(t, os.WriteFile(file, []byte("rules:\n- who: [x]\n"), 0o600))
	_, err = command(t, "check", "--access-policy", file)
	require.ErrorContains(t, err, "line 2")
}
