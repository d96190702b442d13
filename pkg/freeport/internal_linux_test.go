package freeport

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestChildrenDoNotInherit: a child that lives on would keep the port reserved.
func TestChildrenDoNotInherit(t *testing.T) {
	t.Parallel()
	_, holder, err := hold()
	require.NoError(t, err)
	defer holder.Close()
	flags, err := unix.FcntlInt(uintptr(holder.(socket)), unix.F_GETFD, 0)
	require.NoError(t, err)
	require.NotZero(t, flags&unix.FD_CLOEXEC)
}
