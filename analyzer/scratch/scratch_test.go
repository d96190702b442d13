package scratch

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A test process that runs as the program to be killed makes a folder and waits.
func TestMain(m *testing.M) {
	if in := os.Getenv("SCRATCH_IN"); in != "" {
		dir, _, err := New(in, "triton-test-")
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(filepath.Base(dir) + "\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
		return
	}
	os.Exit(m.Run())
}

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
	_, err = output.Read(make([]byte, 64)) // the folder is there
	require.NoError(t, err)
	require.Len(t, folders(t, in), 2)

	first, remove, err := New(in, "triton-test-")
	require.NoError(t, err)
	require.Len(t, folders(t, in), 3, "the other program lives")
	require.NoError(t, os.WriteFile(filepath.Join(first, "model"), nil, 0o600))
	require.NoError(t, remove())
	require.NoDirExists(t, first)

	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	second, remove, err := New(in, "triton-test-")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{filepath.Base(second), filepath.Base(other)}, folders(t, in), "what the killed one has left is removed, other folders stay")
	require.NoError(t, remove())

	_, _, err = New(filepath.Join(in, "none"), "triton-test-")
	require.Error(t, err)
}

// Of many programs that begin and end at a time, none removes the folder that another one has just made.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 40 {
				dir, remove, err := New(in, "triton-test-")
				if !assert.NoError(t, err) {
					return
				}
				runtime.Gosched()
				assert.NoError(t, os.WriteFile(filepath.Join(dir, "model"), nil, 0o600), "the folder is its own")
				assert.FileExists(t, filepath.Join(dir, lockName))
				assert.NoError(t, remove())
			}
		})
	}
	all.Wait()
	require.Empty(t, folders(t, in))
}
