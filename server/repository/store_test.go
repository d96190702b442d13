package repository

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/store"
)

// remote is a store that is not a file system: its files are in memory, and a fetch writes them to
// a folder. A hook before each call may wait, fail, or change the content of the store.
type remote struct {
	t    testing.TB
	hook atomic.Pointer[func(ctx context.Context, call string) error]
	open atomic.Int32 // fetched folders

	mu    sync.Mutex
	files map[string]string
	calls []string
}

func newRemote(t testing.TB, files map[string]string) *remote {
	return &remote{t: t, files: maps.Clone(files)}
}

// on sets the hook; a call is "list", "stamp m" or "fetch m 1".
func (s *remote) on(hook func(ctx context.Context, call string) error) { s.hook.Store(&hook) }

func (s *remote) put(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = text
}

func (s *remote) remove(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.files, func(name, _ string) bool { return strings.HasPrefix(name, prefix) })
}

// seen returns the calls since the last time.
func (s *remote) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.calls
	s.calls = nil
	return all
}

func (s *remote) begin(ctx context.Context, call string) error {
	s.mu.Lock()
	s.calls = append(s.calls, strings.TrimSpace(call))
	s.mu.Unlock()
	if hook := s.hook.Load(); hook != nil {
		if err := (*hook)(ctx, strings.TrimSpace(call)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *remote) List(ctx context.Context) ([]store.Model, error) {
	if err := s.begin(ctx, "list"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]bool{}
	for f := range s.files {
		name, _, _ := strings.Cut(f, "/")
		names[name] = true
	}
	var all []store.Model
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, store.Model{ID: store.ID{Name: name}, Location: "remote://" + name})
	}
	return all, nil
}

func (s *remote) Stamp(ctx context.Context, m store.Model) (store.Stamp, error) {
	if err := s.begin(ctx, "stamp "+m.ID.Name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stamp := store.Stamp{}
	for _, f := range slices.Sorted(maps.Keys(s.files)) {
		name, rest, _ := strings.Cut(f, "/")
		if name != m.ID.Name {
			continue
		}
		top, _, isDir := strings.Cut(rest, "/")
		h := fnv.New64()
		_, _ = h.Write([]byte(stamp[top].Tag + f + s.files[f]))
		stamp[top] = store.Entry{Tag: fmt.Sprint(h.Sum64()), Dir: isDir}
	}
	if len(stamp) == 0 {
		return nil, errors.New("it was removed")
	}
	return stamp, nil
}

func (s *remote) Fetch(ctx context.Context, m store.Model, version string) (*store.Folder, error) {
	if err := s.begin(ctx, "fetch "+m.ID.Name+" "+version); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, found := s.t.TempDir(), false
	for f, text := range s.files {
		name, rest, _ := strings.Cut(f, "/")
		top, _, isDir := strings.Cut(rest, "/")
		if name != m.ID.Name || isDir && top != version && strings.Trim(top, "0123456789") == "" {
			continue
		}
		found = true
		path := filepath.Join(dir, rest)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, errors.New("it was removed")
	}
	s.open.Add(1)
	return store.NewFolder(dir, func() {
		_ = os.RemoveAll(dir)
		s.open.Add(-1)
	}), nil
}

// stored opens a repository over a store. No folder is held once it is drained.
func stored(t *testing.T, s *remote, control Control) (*Repository, *lines, error) {
	t.Helper()
	t.Cleanup(func() { require.Zero(t, s.open.Load(), "folders that are still held") })
	return open(t, func(o *Options) {
		o.Store, o.Control, o.Backends["python"], o.Backends["snake"] = s, control, python, snake
	})
}

const twoVersions = pythonConfig + "version_policy { all { } }\n"

// TestAStoreThatIsNoDirectory: a model is fetched version by version, without those
// that are not served, and only what was changed is fetched again.
func TestAStoreThatIsNoDirectory(t *testing.T) {
	t.Parallel()
	s := newRemote(t, map[string]string{
		"m/config.pbtxt": twoVersions, "m/1/model.py": "one", "m/2/model.py": "two",
		"n/config.pbtxt": pythonConfig, "n/1/model.py": "old", "n/3/model.py": "new", "n/names": "a",
	})
	r, _, err := stored(t, s, ControlPoll)
	require.NoError(t, err)
	works(t, r, "m")
	works(t, r, "n")
	calls := s.seen()
	slices.Sort(calls)
	require.Equal(t, []string{
		"fetch m", "fetch m 1", "fetch m 2", "fetch n", "fetch n 3", "list", "stamp m", "stamp n",
	}, calls)
	require.EqualValues(t, 3, s.open.Load(), "those of the versions")

	require.NoError(t, r.Poll(t.Context()))
	require.Equal(t, []string{"list", "stamp m", "stamp n"}, s.seen(), "nothing was changed")

	s.put("m/2/model.py", "two and a half")
	require.NoError(t, r.Poll(t.Context()))
	require.Equal(t, []string{"list", "stamp m", "fetch m", "stamp n", "fetch m 2"}, s.seen())
	waitClosed(t, r)
	require.EqualValues(t, 3, s.open.Load())

	s.put("m/config.pbtxt", twoVersions+"instance_group { count: 2 }")
	require.NoError(t, r.Poll(t.Context()))
	require.Equal(t, []string{"list", "stamp m", "fetch m", "stamp n"}, s.seen(), "the backends have their files")
	waitClosed(t, r)
	works(t, r, "m")

	s.remove("m/")
	require.NoError(t, r.Poll(t.Context()))
	waitClosed(t, r)
	require.Equal(t, "n:3 READY", states(r))
	require.EqualValues(t, 1, s.open.Load())
}

// TestDetectionNeedsAVersion: if the configuration names no backend, the files of a version
// determine it.
func TestDetectionNeedsAVersion(t *testing.T) {
	t.Parallel()
	const ports = `input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] } output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }`
	s := newRemote(t, map[string]string{"m/config.pbtxt": ports, "m/1/model.py": "model"})
	r, _, err := stored(t, s, ControlNone)
	require.NoError(t, err)
	works(t, r, "m")
	require.Equal(t, []string{"list", "stamp m", "fetch m", "fetch m 1", "fetch m 1"}, s.seen())
}

// TestChecksumsOfAVersion: an agent that reads files of a version causes its fetch.
func TestChecksumsOfAVersion(t *testing.T) {
	t.Parallel()
	sum := func(hash string) string {
		return pythonConfig + `model_repository_agents { agents { name: "checksum" parameters { key: "MD5:1/model.py" value: "` + hash + `" } } }`
	}
	s := newRemote(t, map[string]string{"m/config.pbtxt": sum("20f35e630daf44dbfa4c3f68f5399d8c"), "m/1/model.py": "model", "m/2/model.py": "other"})
	r, out, err := stored(t, s, ControlPoll)
	require.NoError(t, err, out.messages())
	works(t, r, "m")
	require.Equal(t, []string{"list", "stamp m", "fetch m", "fetch m 1", "fetch m 2"}, s.seen())
	s.put("m/1/model.py", "changed")
	require.NoError(t, r.Poll(t.Context()))
	require.Contains(t, out.messages(), "1/model.py")
	works(t, r, "m")
}

// TestOneListing: an operation lists the store once, and takes each stamp once.
func TestOneListing(t *testing.T) {
	t.Parallel()
	part := strings.ReplaceAll(link, "python", "snake")
	s := newRemote(t, map[string]string{
		"a/config.pbtxt": part, "a/1/model.py": "a", "b/config.pbtxt": part, "b/1/model.py": "b",
		"ab/config.pbtxt": chain("a", "b"), "ab/1/x": "", "c/config.pbtxt": part, "c/1/model.py": "c",
	})
	r, _, err := stored(t, s, ControlExplicit)
	require.NoError(t, err)
	require.Equal(t, []string{"list"}, s.seen())
	for _, op := range []struct {
		name string
		do   func() error
		want int // listings
	}{
		{"load", func() error { return r.Load(t.Context(), "c", infer.LoadOptions{}) }, 1},
		{"load of an ensemble", func() error { return r.Load(t.Context(), "ab", infer.LoadOptions{}) }, 1},
		{"load again", func() error { return r.Load(t.Context(), "ab", infer.LoadOptions{}) }, 1},
		{"load of a part", func() error { s.put("a/1/model.py", "aa"); return r.Load(t.Context(), "a", infer.LoadOptions{}) }, 1},
		{"unload", func() error { return r.Unload(t.Context(), "ab", true) }, 0},
	} {
		require.NoError(t, op.do(), op.name)
		count := map[string]int{}
		for _, call := range s.seen() {
			if !strings.HasPrefix(call, "fetch") {
				count[call]++
			}
		}
		require.Equal(t, op.want, count["list"], op.name)
		for call, n := range count {
			require.Equal(t, 1, n, "%s: %s", op.name, call)
		}
	}
}

// TestAStoreThatChanges: after any change between the calls of an operation, the serving
// versions continue, and the next operation finds the change.
func TestAStoreThatChanges(t *testing.T) {
	t.Parallel()
	files := map[string]string{"m/config.pbtxt": pythonConfig, "m/1/model.py": "model"}
	bigger := pythonConfig + `parameters { key: "k" value { string_value: "v" } }`
	for name, test := range map[string]struct {
		at     string // the call before which it happens
		change func(s *remote)
		fails  bool // that operation
	}{
		"new configuration before its fetch": {"fetch m", func(s *remote) { s.put("m/config.pbtxt", bigger) }, false},
		"new configuration after its fetch":  {"fetch m 1", func(s *remote) { s.put("m/config.pbtxt", bigger) }, false},
		"removed before its stamp":           {"stamp m", func(s *remote) { s.remove("m/") }, true},
		"removed before its fetch":           {"fetch m", func(s *remote) { s.remove("m/") }, true},
		"removed before the version":         {"fetch m 1", func(s *remote) { s.remove("m/") }, true},
		"the version was removed":            {"fetch m 1", func(s *remote) { s.remove("m/1/") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRemote(t, files)
			r, out, err := stored(t, s, ControlExplicit)
			require.NoError(t, err)
			load := func() error { return r.Load(t.Context(), "m", infer.LoadOptions{}) }
			require.NoError(t, load())
			s.put("m/1/model.py", "changed")
			var once sync.Once
			s.on(func(_ context.Context, call string) error {
				if call == test.at {
					once.Do(func() { test.change(s) })
				}
				return nil
			})
			err = load()
			require.Equal(t, test.fails, err != nil, "%v", err)
			works(t, r, "m")
			if test.fails {
				require.Regexp(t, "it was removed|no such file", out.messages())
				maps.Copy(s.files, files)
			}
			require.NoError(t, load())
			works(t, r, "m")
			m, err := r.Model("m", "")
			require.NoError(t, err)
			require.Equal(t, !test.fails, m.Config().GetParameters()["k"] != nil)
			m.Release()
			waitClosed(t, r)
		})
	}
}

// TestAStoreThatFails: the serving versions continue, and the clients get the error.
func TestAStoreThatFails(t *testing.T) {
	t.Parallel()
	files := map[string]string{"m/config.pbtxt": pythonConfig, "m/1/model.py": "model"}
	for _, call := range []string{"list", "stamp m", "fetch m", "fetch m 1"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			s := newRemote(t, files)
			r, out, err := stored(t, s, ControlExplicit)
			require.NoError(t, err)
			require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{}))
			s.put("m/1/model.py", "changed")
			var fail atomic.Bool
			fail.Store(true)
			s.on(func(_ context.Context, now string) error {
				if now == call && fail.Load() {
					return errors.New("out of reach")
				}
				return nil
			})
			err = r.Load(t.Context(), "m", infer.LoadOptions{})
			require.Error(t, err)
			require.Contains(t, out.messages(), "out of reach")
			works(t, r, "m")
			require.Regexp(t, "^m:1 READY( .*out of reach; version 1 serves)?$", states(r))
			require.NoError(t, r.Unload(t.Context(), "m", false), "that needs no store")
			require.Error(t, r.Load(t.Context(), "m", infer.LoadOptions{}))
			fail.Store(false)
			require.NoError(t, r.Load(t.Context(), "m", infer.LoadOptions{}))
			works(t, r, "m")
		})
	}
	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		s := newRemote(t, files)
		s.on(func(context.Context, string) error { return errors.New("out of reach") })
		r, _, err := stored(t, s, ControlNone)
		require.EqualError(t, err, "out of reach")
		require.False(t, r.Live())
	})
	t.Run("in a poll", func(t *testing.T) {
		t.Parallel()
		s := newRemote(t, files)
		r, _, err := stored(t, s, ControlPoll)
		require.NoError(t, err)
		s.on(func(context.Context, string) error { return errors.New("out of reach") })
		require.EqualError(t, r.Poll(t.Context()), "out of reach")
		works(t, r, "m")
		require.Equal(t, "m:1 READY", states(r))
	})
	t.Run("paths", func(t *testing.T) {
		t.Parallel()
		r, _, err := stored(t, newRemote(t, files), ControlExplicit)
		require.NoError(t, err)
		require.Equal(t, status.Unsupported, status.CodeOf(r.Register(t.TempDir(), nil)))
		require.Equal(t, status.Unsupported, status.CodeOf(r.Unregister("x")))
	})
}

// TestASlowStore: while one operation waits for the store, all versions serve, and operations on
// other models run. The end of its context ends the operation.
func TestASlowStore(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"m/config.pbtxt": pythonConfig, "m/1/model.py": "model", "n/config.pbtxt": pythonConfig, "n/1/model.py": "model",
		"o/config.pbtxt": pythonConfig, "o/1/model.py": "model",
	}
	for _, call := range []string{"list", "stamp m", "fetch m", "fetch m 1"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			s := newRemote(t, files)
			r, _, err := stored(t, s, ControlExplicit)
			require.NoError(t, err)
			for _, name := range []string{"m", "n"} {
				require.NoError(t, r.Load(t.Context(), name, infer.LoadOptions{}))
			}
			s.put("m/1/model.py", "changed")
			waits := make(chan struct{})
			var once sync.Once
			s.on(func(ctx context.Context, now string) error {
				if now != call {
					return nil
				}
				first := false
				once.Do(func() { first = true })
				if !first {
					return nil
				}
				close(waits)
				<-ctx.Done()
				return context.Cause(ctx)
			})
			loaded := make(chan error, 1)
			go func() { loaded <- r.Load(context.Background(), "m", infer.LoadOptions{}) }()
			<-waits
			works(t, r, "m")
			require.NoError(t, r.Unload(t.Context(), "n", false))
			require.NoError(t, r.Load(t.Context(), "o", infer.LoadOptions{}))
			works(t, r, "o")
			require.True(t, r.Live())
			_, err = r.Statistics("", "")
			require.NoError(t, err)
			require.NoError(t, r.Drain(t.Context()))
			require.Error(t, <-loaded)
		})
	}
	t.Run("poll", func(t *testing.T) {
		t.Parallel()
		s := newRemote(t, files)
		r, _, err := stored(t, s, ControlPoll)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		s.on(func(ctx context.Context, _ string) error {
			cancel()
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, r.Poll(ctx), context.Canceled)
		works(t, r, "m")
	})
}

// TestASlowStoreTakesNoPlace: versions whose files are fetched do not use up the places of those
// that load.
func TestASlowStoreTakesNoPlace(t *testing.T) {
	t.Parallel()
	s := newRemote(t, map[string]string{
		"m/config.pbtxt": twoVersions, "m/1/model.py": "one", "m/2/model.py": "two",
		"o/config.pbtxt": pythonConfig, "o/1/model.py": "model",
	})
	t.Cleanup(func() { require.Zero(t, s.open.Load(), "folders that are still held") })
	r, _, err := open(t, func(o *Options) {
		o.Store, o.Control, o.LoadThreads, o.Backends["python"] = s, ControlExplicit, 1, python
	})
	require.NoError(t, err)
	waits := make(chan string, 2)
	answer := make(chan struct{})
	s.on(func(ctx context.Context, call string) error {
		if call != "fetch m 1" && call != "fetch m 2" {
			return nil
		}
		waits <- call
		select {
		case <-answer:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	loaded := make(chan error, 1)
	go func() { loaded <- r.Load(context.Background(), "m", infer.LoadOptions{}) }()
	require.NotEqual(t, <-waits, <-waits, "both versions are fetched at the same time")
	require.NoError(t, r.Load(t.Context(), "o", infer.LoadOptions{}))
	works(t, r, "o")
	close(answer)
	require.NoError(t, <-loaded)
	works(t, r, "m")
}
