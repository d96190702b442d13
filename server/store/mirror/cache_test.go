package mirror_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/store/mirror"
	"triton/server/store/remote"
)

// inTest names the folder of the cache to the process that TestTwoProcesses starts.
const inTest = "TRITON_TEST_FILECACHE"

func openCache(t *testing.T, dir string, limit int64) *mirror.Cache {
	t.Helper()
	c, err := mirror.OpenCache(mirror.CacheOptions{Dir: dir, Limit: limit, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func fillWith(text string) func(context.Context, *os.File) error {
	return func(_ context.Context, f *os.File) error {
		_, err := f.WriteString(text)
		return err
	}
}

// getText returns content, and whether it was downloaded.
func getText(t *testing.T, c *mirror.Cache, key, text string) (b *mirror.Blob, downloaded bool) {
	t.Helper()
	b, err := c.Get(t.Context(), mirror.Want{Key: key, Size: int64(len(text))}, func(ctx context.Context, f *os.File) error {
		downloaded = true
		return fillWith(text)(ctx, f)
	})
	require.NoError(t, err)
	got, err := os.ReadFile(b.Path)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	return b, downloaded
}

func sumOf(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// TestCacheRestarts: a new process finds what the last one downloaded; content under two keys is one file.
func TestCacheRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := openCache(t, dir, 0)
	one, downloaded := getText(t, c, "one", "text")
	require.True(t, downloaded)
	two, downloaded := getText(t, c, "two", "text")
	require.True(t, downloaded)
	require.Equal(t, one.Path, two.Path)
	require.Equal(t, int64(4), c.Stats().Bytes)
	require.NoError(t, c.Close())

	c = openCache(t, dir, 0)
	require.Equal(t, int64(4), c.Stats().Bytes)
	for _, key := range []string{"one", "two"} {
		b, downloaded := getText(t, c, key, "text")
		require.False(t, downloaded)
		b.Release()
	}
	b, err := c.Get(t.Context(), mirror.Want{Key: "three", Size: 4, Digest: sumOf("text")}, fillWith("unused"))
	require.NoError(t, err, "a source that knows the digest needs no key")
	b.Release()
	require.Equal(t, mirror.CacheStats{Bytes: 4, Hits: 3}, c.Stats())
}

// TestFolder: a folder has the files by their paths, stays while others are made, and is removed.
func TestFolder(t *testing.T) {
	t.Parallel()
	c := openCache(t, t.TempDir(), 0)
	a, _ := getText(t, c, "a", "A")
	b, _ := getText(t, c, "b", "B")
	dir, free, err := c.Folder(map[string]*mirror.Blob{"config.pbtxt": a, "1/deep/model": b}, []string{"2"})
	require.NoError(t, err)
	var all []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		all = append(all, filepath.ToSlash(rel))
		return err
	}))
	require.Equal(t, []string{".", "1", "1/deep", "1/deep/model", "2", "config.pbtxt"}, all)
	text, err := os.ReadFile(filepath.Join(dir, "1/deep/model"))
	require.NoError(t, err)
	require.Equal(t, "B", string(text))
	info, err := os.Stat(filepath.Join(dir, "config.pbtxt"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o444), info.Mode().Perm())
	free()
	require.NoDirExists(t, dir)
}

// TestCacheOfHostileNames: names that lead elsewhere or that no file can have are refused, and nothing is
// written outside the cache.
func TestCacheOfHostileNames(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	c := openCache(t, filepath.Join(outer, "cache"), 0)
	for _, name := range []string{
		"../x", "a/../../x", "/etc/x", "a//b", "a/./b", "..", ".", "", "a\x00b", `a\..\b`, "a/", "/",
		strings.Repeat("n", 256), "1/" + strings.Repeat("n", 300), strings.Repeat("a/", 2000) + "b",
	} {
		b, _ := getText(t, c, "k", "text")
		dir, _, err := c.Folder(map[string]*mirror.Blob{name: b}, nil)
		require.Error(t, err, "%q", name)
		require.Empty(t, dir)
		_, _, err = c.Folder(nil, []string{name})
		require.Error(t, err, "%q", name)
	}
	one, _ := getText(t, c, "k", "text")
	two, _ := getText(t, c, "k", "text")
	_, _, err := c.Folder(map[string]*mirror.Blob{"a": one, "a/b": two}, nil)
	require.ErrorContains(t, err, "a", "a file cannot be a folder too")
	others, err := os.ReadDir(outer)
	require.NoError(t, err)
	require.Len(t, others, 1)
}

// FuzzCheckName: an accepted name is a file below a folder, and nowhere else.
func FuzzCheckName(f *testing.F) {
	for _, name := range []string{"1/model.onnx", "../x", "a/../b", "a\x00", "..", "a//b", `a\b`, "C:/x", "con"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if mirror.CheckName(name) != nil {
			return
		}
		outer := t.TempDir()
		dir := filepath.Join(outer, "model")
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.True(t, strings.HasPrefix(path, dir+string(filepath.Separator)))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		others, err := os.ReadDir(outer)
		require.NoError(t, err)
		require.Len(t, others, 1)
	})
}

// TestEviction: above the limit the least recently used files go, and never those in use.
func TestEviction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := openCache(t, dir, 30)
	other := openCache(t, dir, 30) // as another process
	text := func(i int) string { return fmt.Sprintf("%010d", i) }
	inUse, _ := getText(t, other, "0", text(0))
	for i := 1; i <= 2; i++ {
		b, _ := getText(t, c, fmt.Sprint(i), text(i))
		b.Release()
		age(t, dir, b.Digest, time.Duration(10-i)*time.Hour)
	}
	again, downloaded := getText(t, c, "1", text(1)) // now 2 is the oldest one
	require.False(t, downloaded)
	again.Release()
	for i := 3; i <= 4; i++ {
		b, _ := getText(t, c, fmt.Sprint(i), text(i))
		defer b.Release()
	}
	require.LessOrEqual(t, c.Stats().Bytes, int64(30))
	require.FileExists(t, inUse.Path)
	for key, kept := range map[string]bool{"0": true, "1": false, "2": false, "3": true, "4": true} {
		b := c.Find(t.Context(), mirror.Want{Key: key, Size: 10})
		require.Equal(t, kept, b != nil, key)
		if b != nil {
			b.Release()
		}
	}
	five, _ := getText(t, c, "5", text(5))
	defer five.Release()
	require.Equal(t, int64(40), c.Stats().Bytes, "what is in use stays above the limit")
	inUse.Release()
	six, _ := getText(t, c, "6", text(6))
	defer six.Release()
	require.NoFileExists(t, inUse.Path)
}

// age makes content look as if it had been used before.
func age(t *testing.T, dir, digest string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "used", digest), at, at))
}

// TestLeavesNothing: a download that fails leaves no file and no visible content.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := openCache(t, dir, 0)
	for name, test := range map[string]struct {
		want mirror.Want
		fill func(context.Context, *os.File) error
		err  error
	}{
		"cut":    {mirror.Want{Key: "k", Size: 4}, func(ctx context.Context, f *os.File) error { _ = fillWith("te")(ctx, f); return errors.ErrUnsupported }, errors.ErrUnsupported},
		"short":  {mirror.Want{Key: "k", Size: 4}, fillWith("te"), remote.ErrContent},
		"long":   {mirror.Want{Key: "k", Size: 4}, fillWith("texts"), remote.ErrContent},
		"digest": {mirror.Want{Key: "k", Size: 4, Digest: sumOf("other")}, fillWith("text"), remote.ErrContent},
		"full": {mirror.Want{Key: "k", Size: 4}, func(ctx context.Context, f *os.File) error {
			_ = fillWith("te")(ctx, f)
			return &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}, mirror.ErrDiskFull},
	} {
		_, err := c.Get(t.Context(), test.want, test.fill)
		require.ErrorIs(t, err, test.err, name)
		require.Nil(t, c.Find(t.Context(), test.want), name)
		var files []string
		require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if e.Type().IsRegular() && e.Name() != "lock" {
				files = append(files, path)
			}
			return err
		}))
		require.Empty(t, files, name)
	}
}

// TestDiskFullMakesRoom: what nothing uses is removed before a download fails for lack of room.
func TestDiskFullMakesRoom(t *testing.T) {
	t.Parallel()
	c := openCache(t, t.TempDir(), 0)
	old, _ := getText(t, c, "old", "unused")
	old.Release()
	tries := 0
	b, err := c.Get(t.Context(), mirror.Want{Key: "k", Size: 4}, func(ctx context.Context, f *os.File) error {
		if tries++; tries == 1 {
			return syscall.ENOSPC
		}
		return fillWith("text")(ctx, f)
	})
	require.NoError(t, err)
	b.Release()
	require.NoFileExists(t, old.Path)
}

// TestChangedFile: content that something wrote over is not used again.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	c := openCache(t, t.TempDir(), 0)
	b, _ := getText(t, c, "k", "text")
	b.Release()
	require.NoError(t, os.Chmod(b.Path, 0o600))
	require.NoError(t, os.WriteFile(b.Path, []byte("evil"), 0o600))
	b, downloaded := getText(t, c, "k", "text")
	require.True(t, downloaded)
	b.Release()
	now := time.Now()
	require.NoError(t, os.Chtimes(b.Path, now, now))
	b, downloaded = getText(t, c, "k", "text")
	require.False(t, downloaded, "it was only touched")
	b.Release()

	require.NoError(t, os.Chmod(b.Path, 0o600))
	require.NoError(t, os.WriteFile(b.Path, []byte("evil"), 0o600))
	b, downloaded = getText(t, c, "another key", "text")
	require.True(t, downloaded)
	text, err := os.ReadFile(b.Path)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	b.Release()
}

// TestOneDownload: of many callers one downloads.
func TestOneDownload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	caches := []*mirror.Cache{openCache(t, dir, 0), openCache(t, dir, 0)}
	var downloads atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			b, err := caches[i%2].Get(t.Context(), mirror.Want{Key: "k", Size: 4}, func(ctx context.Context, f *os.File) error {
				downloads.Add(1)
				return fillWith("text")(ctx, f)
			})
			if err == nil {
				b.Release()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int32(1), downloads.Load())

	ctx, cancel := context.WithCancel(t.Context())
	_, err := caches[0].Get(t.Context(), mirror.Want{Key: "other", Size: 4}, func(context.Context, *os.File) error {
		cancel() // those who wait for it may give up
		_, err := caches[0].Get(ctx, mirror.Want{Key: "other", Size: 4}, fillWith("text"))
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
}

// TestTwoProcesses: another process uses the same folder at the same time and dies; its leftovers
// go, what it downloaded stays, and what it held is free.
func TestTwoProcesses(t *testing.T) {
	if dir := os.Getenv(inTest); dir != "" { // this is the other process
		c := openCache(t, dir, 10)
		b, _ := getText(t, c, "of the child", "0123456789")
		_, _, err := c.Folder(map[string]*mirror.Blob{"m": b}, nil)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600))
		time.Sleep(time.Hour)
	}
	t.Parallel()
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$", "-test.v")
	child.Env = append(os.Environ(), inTest+"="+dir)
	require.NoError(t, child.Start())
	for range 1200 {
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.FileExists(t, filepath.Join(dir, "ready"))
	c := openCache(t, dir, 10)
	b, downloaded := getText(t, c, "of the child", "0123456789")
	require.False(t, downloaded)
	b.Release()
	more, _ := getText(t, c, "more", "abcdefghij")
	more.Release()
	require.FileExists(t, b.Path, "the other process uses it")

	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	require.NoError(t, c.Close())
	c = openCache(t, dir, 10)
	processes, err := os.ReadDir(filepath.Join(dir, "process"))
	require.NoError(t, err)
	require.Len(t, processes, 1)
	last, _ := getText(t, c, "last", "ABCDEFGHIJ")
	defer last.Release()
	require.Equal(t, int64(10), c.Stats().Bytes)
	require.NoFileExists(t, b.Path)
}
