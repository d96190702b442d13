//go:build linux && cgo

package cuda

import (
	"bufio"
	"encoding/hex"
	"io"
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
	shareWithOwner(t, d, path)
}

// TestHardware is the same on the first GPU of this machine.
func TestHardware(t *testing.T) {
	t.Parallel()
	d, err := Open()
	if err != nil {
		t.Skip(err)
	}
	needCompiler(t)
	shareWithOwner(t, d, "libcuda.so.1")
}

// shareWithOwner reads and writes the memory of a process that the driver at a
// path gave it.
func shareWithOwner(t *testing.T, d Driver, path string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "owner")
	require.NoError(t, compile(program, "testdata/owner.c"))
	owner := exec.CommandContext(t.Context(), program, path)
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
