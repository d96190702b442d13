package status_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

func TestStrerror(t *testing.T) {
	t.Parallel()
	_, err := os.Open(filepath.Join(t.TempDir(), "missing"))
	require.Equal(t, "No such file or directory", status.Strerror(err))
	require.Equal(t, "Permission denied", status.Strerror(syscall.EACCES))
	require.Equal(t, "not a file", status.Strerror(&fs.PathError{Op: "open", Path: "x", Err: errors.New("not a file")}))
	require.Equal(t, "other", status.Strerror(errors.New("other")))
}
