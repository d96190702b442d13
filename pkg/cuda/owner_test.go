//go:build linux && cgo

package cuda

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemoryOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path := newFake(t).path()
	d, err := open(path)
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "owner")
	require.NoError(t, compile(program, "testdata/owner.c"))
	shareWithOwner(t, d, exec.CommandContext(t.Context(), program, path))
}

// TestRealMemoryOfAnotherProcess is the same on the first GPU of this machine, which may have no compiler: the
// owner is this program.
func TestRealMemoryOfAnotherProcess(t *testing.T) {
	t.Parallel()
	if os.Getenv(ownerVariable) != "" {
		t.Skip("this process is the owner")
	}
	d, err := Open()
	if err != nil {
		t.Skip(err)
	}
	owner := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRealOwner$")
	owner.Env = append(os.Environ(), ownerVariable+"=1")
	shareWithOwner(t, d, owner)
}

const ownerVariable = "TRITON_TEST_CUDA_OWNER"

// TestRealOwner is the other process of TestRealMemoryOfAnotherProcess: what testdata/owner.c is.
func TestRealOwner(t *testing.T) {
	if os.Getenv(ownerVariable) == "" {
		t.Skip("it is started by TestRealMemoryOfAnotherProcess")
	}
	d, err := Open()
	require.NoError(t, err)
	m, h, err := d.(Allocator).Allocate(0, 1<<20)
	require.NoError(t, err)
	content := make([]byte, 10)
	require.NoError(t, m.Write([]byte("0123456789"), 0))
	fmt.Println(hex.EncodeToString(h[:]))
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
	require.NoError(t, m.Read(content, 0))
	require.NoError(t, m.Close())
	fmt.Println(string(content))
	os.Exit(0) // the end of a test would write more
}

// shareWithOwner reads and writes the memory of another process, which tells its handle.
func shareWithOwner(t *testing.T, d Driver, owner *exec.Cmd) {
	t.Helper()
	var stderr strings.Builder
	owner.Stderr = &stderr
	in, err := owner.StdinPipe()
	require.NoError(t, err)
	out, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		_ = owner.Wait()
		t.Fatal(stderr.String())
	}
	raw, err := hex.DecodeString(strings.TrimSpace(line))
	require.NoError(t, err)
	h, ok := ParseHandle(raw)
	require.True(t, ok)

	m, err := d.Open(0, h)
	require.NoError(t, err)
	again, err := d.Open(0, h)
	require.NoError(t, err, "a handle may be opened twice")
	require.NoError(t, again.Close())
	require.GreaterOrEqual(t, m.Size(), uint64(1<<20))
	got := make([]byte, 6)
	require.NoError(t, m.Read(got, 3))
	require.Equal(t, "345678", string(got))
	require.NoError(t, m.Write([]byte("abc"), 7))
	require.NoError(t, m.Write(make([]byte, 1<<19), 1<<19))
	require.NoError(t, m.Read(got, 5))
	require.Equal(t, "56abc\x00", string(got))
	require.NoError(t, m.Close())

	require.NoError(t, in.Close())
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NoError(t, owner.Wait(), stderr.String())
	require.Equal(t, "0123456abc\n", string(rest))
}
