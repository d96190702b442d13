package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func folders(t *testing.T, in string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(in)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFolderOfKilledProgram(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	other := filepath.Join(in, "triton-test-of-somebody")
	require.NoError(t, os.Mkdir(other, 0o700))
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "SCRATCH_IN="+in)
	input, err := c.StdinPipe()
	require.NoError(t, err)
	defer input.Close()
	output, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	line := make([]byte, 64)
	n, err := output.Read(line) // the folder is there
	require.NoError(t, err)
	age(t, filepath.Join(in, strings.TrimSpace(string(line[:n])), scratchLock))
	require.Len(t, folders(t, in), 2)

	first, remove, err := NewScratch(in, "triton-test-")
	require.NoError(t, err)
	require.Len(t, folders(t, in), 3, "the other program lives")
	require.NoError(t, os.WriteFile(filepath.Join(first, "model"), nil, 0o600))
	require.NoError(t, remove())
	require.NoDirExists(t, first)

	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	second, remove, err := NewScratch(in, "triton-test-")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{filepath.Base(second), filepath.Base(other)}, folders(t, in), "what the killed one has left is removed, other folders stay")
	require.NoError(t, remove())

	_, _, err = NewScratch(filepath.Join(in, "none"), "triton-test-")
	require.Error(t, err)
}

// A folder that was made a moment ago is not removed: its program may be about to lock it.
func TestFolderThatIsNew(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	lock := filepath.Join(in, "triton-test-new", scratchLock)
	require.NoError(t, os.Mkdir(filepath.Dir(lock), 0o700))
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	_, remove, err := NewScratch(in, "triton-test-")
	require.NoError(t, err)
	require.NoError(t, remove())
	require.FileExists(t, lock)
	age(t, lock)
	_, remove, err = NewScratch(in, "triton-test-")
	require.NoError(t, err)
	require.NoError(t, remove())
	require.Empty(t, folders(t, in))
}

// age makes a lock older than that of a folder that is new.
func age(t *testing.T, lock string) {
	t.Helper()
	before := time.Now().Add(-2 * scratchNew)
	require.NoError(t, os.Chtimes(lock, before, before))
}
