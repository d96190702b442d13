package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/store"
	"triton/server/store/mirror"
	"triton/server/store/remote"
	"triton/server/store/remote/remotetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged is a log in memory.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// kit is a mirror of a bucket.
type kit struct {
	*mirror.Mirror
	source *remotetest.Source
	log    *logged
}

func newKit(t *testing.T, dir string, o mirror.Options, files map[string]string) *kit {
	t.Helper()
	k := &kit{source: &remotetest.Source{Bucket: &remotetest.Bucket{}, Path: "test://bucket/models"}, log: &logged{}}
	for name, text := range files {
		k.source.Put(name, text)
	}
	o.Log = slog.New(slog.NewTextHandler(k.log, nil))
	c, err := mirror.OpenCache(mirror.CacheOptions{Dir: dir, Log: o.Log})
	require.NoError(t, err)
	o.Cache, o.Download = c, mirror.NewDownloader(mirror.DownloadOptions{FirstPause: time.Millisecond, MaxPause: time.Millisecond})
	k.Mirror = mirror.New(k.source, o)
	t.Cleanup(func() {
		require.NoError(t, k.Close())
		require.NoError(t, c.Close())
	})
	return k
}

func (k *kit) list(t *testing.T) []string {
	t.Helper()
	all, err := k.List(t.Context())
	require.NoError(t, err)
	return all
}

func (k *kit) stamp(t *testing.T, name string) store.Stamp {
	t.Helper()
	s, err := k.Stamp(t.Context(), name)
	require.NoError(t, err)
	return s
}

// fetch returns the files of a fetched folder; folders end in a slash.
func (k *kit) fetch(t *testing.T, name, version string) map[string]string {
	t.Helper()
	f, err := k.Fetch(t.Context(), name, version)
	require.NoError(t, err)
	defer f.Release()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(f.Dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(f.Dir, path)
		if e.IsDir() {
			all[filepath.ToSlash(rel)+"/"] = ""
			return err
		}
		text, err := os.ReadFile(path)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	}))
	delete(all, "./")
	return all
}

var model = map[string]string{
	"m/config.pbtxt": "config", "m/1/model": "one", "m/2/model": "two", "m/2/more/data": "data", "m/extra/labels": "labels",
	"e/1/": "", "e/config.pbtxt": "", "beside": "x",
}

// TestModels: folders are models, files beside them are not; a fetch has one version.
func TestModels(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{}, model)
	require.NoError(t, k.Check(t.Context()))
	require.Equal(t, []string{"e", "m"}, k.list(t))
	require.Equal(t, map[string]string{"config.pbtxt": "config", "extra/": "", "extra/labels": "labels"}, k.fetch(t, "m", ""))
	require.Equal(t, map[string]string{
		"config.pbtxt": "config", "extra/": "", "extra/labels": "labels", "2/": "", "2/model": "two", "2/more/": "", "2/more/data": "data",
	}, k.fetch(t, "m", "2"))
	require.Equal(t, map[string]string{"1/": "", "config.pbtxt": ""}, k.fetch(t, "e", "1"))
	require.Equal(t, []string{"1", "2", "extra"}, k.stamp(t, "m").Folders())
	require.Equal(t, []string{"1"}, k.stamp(t, "e").Folders())
	reads, lists, sent := k.source.Counts()
	require.Equal(t, 4, reads, "each file once; empty ones not")
	require.LessOrEqual(t, lists, 2, "List uses the listing of Check if it comes soon")
	require.Equal(t, int64(len("config")+len("labels")+len("two")+len("data")), sent)
	require.Equal(t, "test://bucket/models/m", k.Location("m"))
}

// TestStamp differs after each change of the model, and only then.
func TestStamp(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{}, model)
	k.list(t)
	before := k.stamp(t, "m")
	k.source.Put("other/1/model", "x")
	k.list(t)
	require.True(t, before.Same(k.stamp(t, "m")))
	for _, change := range []struct {
		name     string
		do       func()
		two, one bool // versions that are the same
	}{
		{"content", func() { k.source.Put("m/2/model", "TWO") }, false, true},
		{"new", func() { k.source.Put("m/2/new", "x") }, false, true},
		{"removed", func() { k.source.Remove("m/2/new") }, false, true},
		{"version", func() { k.source.Put("m/3/model", "x") }, true, true},
		{"shared", func() { k.source.Put("m/extra/labels", "x") }, false, false},
		{"config", func() { k.source.Put("m/config.pbtxt", "x") }, true, true},
	} {
		before := k.stamp(t, "m")
		change.do()
		k.list(t)
		after := k.stamp(t, "m")
		require.False(t, before.Same(after), change.name)
		require.Equal(t, change.two, before.SameFor(after, "2", "config.pbtxt"), change.name)
		require.Equal(t, change.one, before.SameFor(after, "1", "config.pbtxt"), change.name)
	}
}

// TestPartialNames: what is not complete by its name is told, or left out beside the versions, as in a
// local folder; files with a digest are complete, whatever their names.
func TestPartialNames(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{}, map[string]string{
		"m/config.pbtxt": "c", "m/1/model": "x", "m/2/data/model.part": "x", "m/3.tmp/model": "x", "m/labels.tmp": "x",
	})
	k.list(t)
	s := k.stamp(t, "m")
	require.ElementsMatch(t, []string{"", "config.pbtxt", "1", "2"}, slices.Collect(maps.Keys(s)))
	require.Empty(t, s["1"].Partial)
	require.Equal(t, "data/model.part", s["2"].Partial)
	k.source.Digests.Store(true)
	k.list(t)
	s = k.stamp(t, "m")
	require.ElementsMatch(t, []string{"", "config.pbtxt", "1", "2", "3.tmp", "labels.tmp"}, slices.Collect(maps.Keys(s)))
	require.Empty(t, s["2"].Partial)
}

// TestRestart: a second start downloads only what was changed.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := newKit(t, dir, mirror.Options{}, model)
	k.list(t)
	k.fetch(t, "m", "2")
	again := newKit(t, dir, mirror.Options{}, nil)
	again.source.Bucket = k.source.Bucket
	again.source.Put("m/2/model", "TWO")
	again.list(t)
	before, _, _ := again.source.Counts()
	require.Equal(t, "TWO", again.fetch(t, "m", "2")["2/model"])
	after, _, _ := again.source.Counts()
	require.Equal(t, 1, after-before)
}

// TestHostileNames: a model with a name that no file below its folder can have is refused whole,
// with the name; the others are served.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	for _, name := range []string{
		"m/../../x", "m/..", "m//x", "m/./x", "m/1/\x00", `m/..\x`, "m/" + strings.Repeat("n", 300), "m/" + strings.Repeat("d/", 2000) + "x",
	} {
		k := newKit(t, filepath.Join(outer, "cache"), mirror.Options{}, map[string]string{"m/config.pbtxt": "c", name: "evil", "ok/1/x": "x"})
		require.Equal(t, []string{"m", "ok"}, k.list(t))
		_, err := k.Stamp(t.Context(), "m")
		require.ErrorContains(t, err, "test://bucket/models: object "+fmt.Sprintf("%q", name))
		_, err = k.Fetch(t.Context(), "m", "1")
		require.ErrorContains(t, err, "object")
		k.fetch(t, "ok", "1")
	}
	k := newKit(t, filepath.Join(outer, "cache"), mirror.Options{}, map[string]string{"../evil/1/x": "x", "/abs/1/x": "x", "./1": "x", "ok/1/x": "x"})
	require.Equal(t, []string{"ok"}, k.list(t))
	require.Contains(t, k.log.String(), "../evil/1/x")
	k = newKit(t, filepath.Join(outer, "cache"), mirror.Options{}, map[string]string{"m/1": "a file", "m/1/x": "x"})
	k.list(t)
	_, err := k.Stamp(t.Context(), "m")
	require.ErrorContains(t, err, `object "m/1" is a file, and other objects have it as a folder`)
	k = newKit(t, filepath.Join(outer, "cache"), mirror.Options{}, map[string]string{"m/1": "", "m/1/x": "x"})
	k.list(t)
	require.Equal(t, map[string]string{"1/": "", "1/x": "x"}, k.fetch(t, "m", "1"), "an empty object marks a folder")
	others, err := os.ReadDir(outer)
	require.NoError(t, err)
	require.Len(t, others, 1)
}

// FuzzListing: whatever a store lists, nothing is written outside the cache and nothing panics.
func FuzzListing(f *testing.F) {
	f.Add("m/1/model", "m/1", "m/config.pbtxt")
	f.Add("../m/x", "m/../../x", "m/\x00")
	f.Add("m//x", "m/./x", "/m/x")
	f.Add("m/1/", "m/", "m/1/x/")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		outer := t.TempDir()
		k := newKit(t, filepath.Join(outer, "cache"), mirror.Options{}, map[string]string{a: "a", b: "", c: "c"})
		for _, name := range k.list(t) {
			stamp, err := k.Stamp(t.Context(), name)
			if err != nil {
				continue
			}
			for _, version := range append(stamp.Folders(), "") {
				folder, err := k.Fetch(t.Context(), name, version)
				require.NoError(t, err)
				folder.Release()
			}
		}
		others, err := os.ReadDir(outer)
		require.NoError(t, err)
		require.Len(t, others, 1)
	})
}

// TestVanished: what a store had last stays while it cannot be listed; polls do not see the fault,
// clients that load do.
func TestVanished(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{true, false} {
		k := newKit(t, t.TempDir(), mirror.Options{KeepLast: keep}, model)
		k.source.Break(fmt.Errorf("%w: 403", remote.ErrDenied))
		require.ErrorContains(t, k.Check(t.Context()), "listing test://bucket/models: access denied: 403; check the credentials")
		_, err := k.List(t.Context())
		require.ErrorIs(t, err, remote.ErrDenied, "it was never listed")
		require.Empty(t, k.log.String(), "the caller logs it")
		k.source.Break(nil)
		k.list(t)
		before := k.stamp(t, "m")
		require.Equal(t, "two", k.fetch(t, "m", "2")["2/model"])

		k.source.Break(errors.New("no luck"))
		for range 3 {
			all, err := k.List(t.Context())
			require.Equal(t, []string{"e", "m"}, all)
			require.Equal(t, keep, err == nil)
		}
		require.Equal(t, 1, strings.Count(k.log.String(), "its loaded models continue to serve"))
		require.False(t, k.Stats().Up)
		after, err := k.Stamp(t.Context(), "m")
		require.Equal(t, keep, err == nil)
		require.Equal(t, keep, before.Same(after))
		require.Equal(t, "two", k.fetch(t, "m", "2")["2/model"], "from the cache")
		_, err = k.Fetch(t.Context(), "m", "1")
		require.ErrorContains(t, err, "downloading from test://bucket/models")

		k.source.Break(nil)
		k.list(t)
		require.True(t, k.Stats().Up)
		require.Contains(t, k.log.String(), "can be listed again")
	}
}

// TestSlow: a store that does not answer holds nobody up for longer than the patience.
func TestSlow(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{KeepLast: true, Patience: 20 * time.Millisecond, Retry: time.Millisecond}, model)
	k.list(t)
	answer := make(chan struct{})
	gate := func(ctx context.Context) error {
		select {
		case <-answer:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	k.source.Gate.Store(&gate)
	k.source.Put("new/1/x", "x")
	for range 3 {
		require.Equal(t, []string{"e", "m"}, k.list(t))
	}
	require.Equal(t, 1, strings.Count(k.log.String(), "has not answered in time"))
	close(answer)
	require.Eventually(t, func() bool { all, err := k.List(t.Context()); return err == nil && len(all) == 3 }, time.Minute, time.Millisecond)
}

// TestChangedWhileFetched: a fetch that meets other content lists again.
func TestChangedWhileFetched(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{}, model)
	k.list(t)
	k.source.Put("m/2/model", "TWO")
	require.Equal(t, "TWO", k.fetch(t, "m", "2")["2/model"])
	k.source.Remove("m/1/")
	require.NotContains(t, k.fetch(t, "m", "1"), "1/model")
	k.source.Remove("m/")
	k.list(t)
	_, err := k.Fetch(t.Context(), "m", "1")
	require.ErrorContains(t, err, "test://bucket/models/m was removed")
}

// TestDamage: content with a wrong checksum is downloaded again.
func TestDamage(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{}, map[string]string{"m/1/model": "content"})
	k.list(t)
	k.source.Fault(func(f *remotetest.Fetch) { f.Flip = f.Attempt == 1 })
	require.Equal(t, "content", k.fetch(t, "m", "1")["1/model"])
	require.Contains(t, k.log.String(), "MD5")
}

// TestThousandObjects fetches a model of many small files.
func TestThousandObjects(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("m/1/%03d", i)] = fmt.Sprint(i)
	}
	k := newKit(t, t.TempDir(), mirror.Options{}, files)
	k.list(t)
	all := k.fetch(t, "m", "1")
	require.Len(t, all, 1001)
	require.Equal(t, "999", all["1/999"])
}

// TestActivity tells how far a download is.
func TestActivity(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{}, map[string]string{"m/1/a": "12345", "m/1/b": strings.Repeat("x", 15)})
	k.list(t)
	got := make(chan string, 1)
	k.source.Fault(func(f *remotetest.Fetch) {
		if f.Name == "m/1/b" {
			for k.Activity("m") == "" {
				time.Sleep(time.Millisecond)
			}
			got <- k.Activity("m")
		}
	})
	k.fetch(t, "m", "1")
	require.Equal(t, "downloading, 25 % of 20 B", <-got)
	require.Empty(t, k.Activity("m"))
}

// TestClose ends a fetch, and later calls.
func TestClose(t *testing.T) {
	t.Parallel()
	k := newKit(t, t.TempDir(), mirror.Options{}, model)
	k.list(t)
	k.source.Fault(func(f *remotetest.Fetch) { f.Hang = true; go func() { _ = k.Close() }() })
	_, err := k.Fetch(t.Context(), "m", "1")
	require.ErrorIs(t, err, context.Canceled)
	_, err = k.List(t.Context())
	require.Error(t, err)
}

// A process starts without the store from what an earlier one has listed and fetched. Files that were never
// fetched are errors; what the store refuses is not served from a copy; and the store's own listing counts
// as soon as it is back.
func TestOfflineStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{"m/config.pbtxt": "c", "m/1/model": "one", "n/1/model": "never fetched"}
	first := newKit(t, dir, mirror.Options{}, files)
	require.NoError(t, first.Check(t.Context()))
	require.Equal(t, []string{"m", "n"}, first.list(t))
	stamp, want := first.stamp(t, "m"), first.fetch(t, "m", "1")

	for name, down := range map[string]error{"unreachable": errors.New("connection refused"), "denied": remote.ErrDenied} {
		for _, offline := range []bool{true, false} {
			k := newKit(t, dir, mirror.Options{Offline: offline}, files)
			k.source.Break(down)
			err := k.Check(t.Context())
			if !offline || errors.Is(down, remote.ErrDenied) {
				require.ErrorIs(t, err, down, name)
				require.Equal(t, !offline && name == "unreachable", strings.Contains(err.Error(), "--store-offline=cached"), err)
				continue
			}
			require.NoError(t, err)
			require.Contains(t, k.log.String(), "its models are those of")
			require.Equal(t, []string{"m", "n"}, k.list(t))
			require.Equal(t, stamp, k.stamp(t, "m"))
			require.Equal(t, want, k.fetch(t, "m", "1"))
			_, err = k.Fetch(t.Context(), "n", "1")
			require.ErrorContains(t, err, "connection refused")
			require.False(t, k.Stats().Up)

			k.source.Break(nil)
			k.source.Put("o/1/model", "new")
			require.Equal(t, []string{"m", "n", "o"}, k.list(t))
			k.source.Break(down)
			_, err = k.List(t.Context())
			require.Error(t, err, "it was reached since")
		}
	}
	empty := newKit(t, t.TempDir(), mirror.Options{Offline: true}, files)
	empty.source.Break(errors.New("connection refused"))
	require.Error(t, empty.Check(t.Context()), "nothing was listed before")
}
