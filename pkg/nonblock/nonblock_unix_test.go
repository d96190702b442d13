//go:build unix

package nonblock

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe that blocks, and a file that is closed, have no Conn.
func TestFilesThatBlock(t *testing.T) {
	t.Parallel()
	var fds [2]int
	require.NoError(t, syscall.Pipe(fds[:]))
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "a pipe")
		require.Nil(t, New(f))
		require.NoError(t, f.Close())
		require.Nil(t, New(f))
	}
}
