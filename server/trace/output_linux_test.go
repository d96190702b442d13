package trace

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A disk that does not answer holds no request up, and traces take up a bounded part of the
// memory meanwhile.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1", "triton,log-frequency=1")
	var log bytes.Buffer
	tr.out.log = slog.New(slog.NewTextHandler(&log, nil))
	require.NoError(t, syscall.Mkfifo(file+".0", 0o600)) // opening it waits for a reader
	require.True(t, serve(tr, "m"))
	require.True(t, serve(tr, "m"))
	one := append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, maxUnwritten-1<<20)...), '"')
	for range 3 {
		tr.out.next(one)
	}
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("too many traces wait to be written")))
	require.NoFileExists(t, file+".1")
	require.Equal(t, []uint64{1}, ids(t, file+".0"))
	require.NoError(t, tr.Shutdown(context.Background()))
	require.Equal(t, []uint64{2}, ids(t, file+".1"))
	text, err := os.ReadFile(file + ".2")
	require.NoError(t, err)
	require.Len(t, text, len(one)+2)
	require.NoFileExists(t, file+".3")
}
