package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/store/mirror"
	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
)

// newSource returns a source with one object of random bytes.
func newSource(size int) (*remotetest.Source, remote.Object, string) {
	text := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(text)
	s := &remotetest.Source{Bucket: &remotetest.Bucket{}, Path: "test://bucket"}
	s.Put("m/1/model", string(text))
	return s, remote.Object{Name: "m/1/model", Size: int64(size), Tag: "1"}, string(text)
}

// buffer is a file in memory.
type buffer []byte

func (b buffer) WriteAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > int64(len(b)) {
		return 0, io.ErrShortWrite
	}
	return copy(b[at:], p), nil
}

// TestDownloadFaults: content arrives whole whatever breaks on the way, and nothing is sent twice that has
// arrived.
func TestDownloadFaults(t *testing.T) {
	t.Parallel()
	const size, part = 1 << 20, 128 << 10
	for name, test := range map[string]struct {
		fault func(f *remotetest.Fetch)
		sent  int64 // bytes at most
	}{
		"none": {func(*remotetest.Fetch) {}, size},
		"cut in the middle of each range": {func(f *remotetest.Fetch) {
			if f.Length == part {
				f.Cut = part / 2
			}
		}, size},
		"cut again and again": {func(f *remotetest.Fetch) { f.Cut = 65 << 10 }, size},
		"some answers are errors": {func(f *remotetest.Fetch) {
			if f.Attempt%3 == 0 {
				f.Status = 503
			}
		}, size},
		"no byte": {func(f *remotetest.Fetch) {
			if f.Attempt < 5 {
				f.Hang = true
			}
		}, size},
		"too much": {func(f *remotetest.Fetch) {
			if f.Attempt == 2 {
				f.Extra = 7
			}
		}, size + part + 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, o, text := newSource(size)
				s.Fault(test.fault)
				var retries atomic.Int32
				d := mirror.NewDownloader(mirror.DownloadOptions{PartSize: part, Streams: 3, Attempts: 10}).Observed(func(string, error) { retries.Add(1) })
				got := make(buffer, size)
				var arrived atomic.Int64
				require.NoError(t, d.Get(t.Context(), s, o, got, func(n int) { arrived.Add(int64(n)) }))
				require.Equal(t, text, string(got))
				require.Equal(t, int64(size), arrived.Load())
				_, _, sent := s.Counts()
				require.LessOrEqual(t, sent, test.sent)
				require.Equal(t, name != "none", retries.Load() > 0)
			})
		})
	}
}

// TestGivesUp: what does not get better ends with the reason, after bounded time.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(s *remotetest.Source, o *remote.Object)
		text   string
		is     error
		reads  int
	}{
		"always cut":    {func(s *remotetest.Source, _ *remote.Object) { s.Fault(func(f *remotetest.Fetch) { f.Cut = 10 }) }, "the connection was cut (6 times)", nil, 6},
		"silent":        {func(s *remotetest.Source, _ *remote.Object) { s.Fault(func(f *remotetest.Fetch) { f.Hang = true }) }, "no bytes arrived in time: 30s", nil, 6},
		"changed":       {func(s *remotetest.Source, _ *remote.Object) { s.Put("m/1/model", "other") }, "", remote.ErrChanged, 0},
		"removed":       {func(s *remotetest.Source, _ *remote.Object) { s.Remove("m") }, "", remote.ErrNotFound, 0},
		"denied":        {func(s *remotetest.Source, _ *remote.Object) { s.Break(remote.ErrDenied) }, "", remote.ErrDenied, 0},
		"always longer": {func(s *remotetest.Source, _ *remote.Object) { s.Fault(func(f *remotetest.Fetch) { f.Extra = 1 }) }, "more bytes than", nil, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, o, _ := newSource(1000)
				test.damage(s, &o)
				begin := time.Now()
				err := mirror.NewDownloader(mirror.DownloadOptions{}).Get(t.Context(), s, o, make(buffer, 1000), func(int) {})
				require.ErrorContains(t, err, `"m/1/model"`)
				require.ErrorContains(t, err, test.text)
				if test.is != nil {
					require.ErrorIs(t, err, test.is)
				}
				reads, _, _ := s.Counts()
				require.Equal(t, test.reads, reads)
				require.Less(t, time.Since(begin), 5*time.Minute)
			})
		})
	}
}

// TestDownloadCancel: a cancelled download ends at once, also in a pause.
func TestDownloadCancel(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(f *remotetest.Fetch){
		"silent": func(f *remotetest.Fetch) { f.Hang = true },
		"pause":  func(f *remotetest.Fetch) { f.Status = 500 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, o, _ := newSource(1000)
				s.Fault(fault)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				begin := time.Now()
				err := mirror.NewDownloader(mirror.DownloadOptions{FirstPause: time.Hour, MaxPause: time.Hour}).Get(ctx, s, o, make(buffer, 1000), func(int) {})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 100*time.Millisecond, time.Since(begin))
			})
		})
	}
}

// TestWriteError: an error of the disk is not repeated.
func TestWriteError(t *testing.T) {
	t.Parallel()
	s, o, _ := newSource(1000)
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	err = mirror.NewDownloader(mirror.DownloadOptions{}).Get(t.Context(), s, o, f, func(int) {})
	require.ErrorIs(t, err, os.ErrClosed)
	reads, _, _ := s.Counts()
	require.Equal(t, 1, reads)
}

// TestRetry repeats requests, but not those that fail for good.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := mirror.NewDownloader(mirror.DownloadOptions{Attempts: 3})
		calls := 0
		request := func(err error) func(context.Context) error {
			return func(context.Context) error { calls++; return err }
		}
		other := errors.New("no luck")
		require.ErrorIs(t, d.Retry(t.Context(), "x", request(other)), other)
		require.Equal(t, 3, calls)
		require.ErrorIs(t, d.Retry(t.Context(), "x", request(fmt.Errorf("a: %w", remote.ErrDenied))), remote.ErrDenied)
		require.Equal(t, 4, calls)
		require.NoError(t, d.Retry(t.Context(), "x", request(nil)))
	})
}
