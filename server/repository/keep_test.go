package repository

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/store"
)

// notices is a watcher that tells what a test says.
type notices struct {
	changed  chan struct{}
	followed atomic.Int32
}

func (n *notices) Follow([]string)          { n.followed.Add(1) }
func (n *notices) Changed() <-chan struct{} { return n.changed }
func (*notices) Close()                     {}

// keep starts KeepPolling, and ends it at the end of the test.
func keep(t *testing.T, r *Repository, every time.Duration) *notices {
	n := &notices{changed: make(chan struct{})}
	r.newWatcher = func() watcher { return n }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.KeepPolling(ctx, every, func(err error) { t.Log(err) })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return n
}

func polling(settle time.Duration) func(*Options) {
	return func(o *Options) { o.Control, o.SettleTime = ControlPoll, settle }
}

// lists returns the number of polls since the last time.
func lists(s *remote) (n int) {
	for _, call := range s.seen() {
		if call == "list" {
			n++
		}
	}
	return n
}

// A change is picked up when it stands still, not at the next interval. Without notices the interval
// finds it. Thousands of notices cause few polls.
func TestKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRemote(t, map[string]string{"m/config.pbtxt": identity, "m/1/model": "a"})
		r, _, err := open(t, func(o *Options) {
			polling(2 * time.Second)(o)
			o.Store = s
		})
		require.NoError(t, err)
		n := keep(t, r, 15*time.Second)
		synctest.Wait()
		require.Equal(t, "m:1 READY", states(r))

		s.put("m/2/model", "half")
		n.changed <- struct{}{}
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, "m:1 READY waiting until version 2 stands still: its folder changed 0.5 s ago", states(r))
		s.put("m/2/model", "whole")
		n.changed <- struct{}{}
		time.Sleep(1900 * time.Millisecond)
		synctest.Wait()
		require.Contains(t, states(r), "m:1 READY waiting", "it changed 1.9 s ago")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, "m:1 UNAVAILABLE unloaded, m:2 READY", states(r))

		s.seen()
		begin := time.Now()
		for range 10_000 {
			s.put("n/1/model", time.Now().String())
			n.changed <- struct{}{}
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, 10*time.Second, time.Since(begin))
		require.LessOrEqual(t, lists(s), 12)
		require.Contains(t, states(r), "n: UNAVAILABLE waiting until version 1 stands still")

		time.Sleep(time.Minute)
		s.seen()
		s.put("m/3/model", "not told")
		time.Sleep(15*time.Second + 2*time.Second)
		synctest.Wait()
		require.Contains(t, states(r), "m:3 READY")
		require.LessOrEqual(t, lists(s), 4)
	})
}

// What failed to load is tried again by the polls of the interval, not by those of other changes.
func TestKeepRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newRemote(t, map[string]string{"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "m/1/model": "a"})
		var loads atomic.Int32
		fail := errors.New("no luck")
		r, _, err := open(t, func(o *Options) {
			polling(time.Second)(o)
			o.Store = s
			o.Backends["odd"] = backendtest.Loading(func(backend.Spec) error {
				loads.Add(1)
				return fail
			})
		})
		require.ErrorIs(t, err, ErrLoad)
		n := keep(t, r, time.Minute)
		for range 20 {
			n.changed <- struct{}{}
			time.Sleep(2 * time.Second)
		}
		require.EqualValues(t, 1, loads.Load())
		time.Sleep(25 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 2, loads.Load(), "by the interval")
		s.put("m/1/model", "b")
		n.changed <- struct{}{}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 3, loads.Load(), "because it was changed")
		require.Equal(t, "m:1 UNAVAILABLE Internal: no luck", states(r))
	})
}

// A version that fails leaves the others; the index names it, the reason and what serves.
func TestIndexOfFailedReload(t *testing.T) {
	t.Parallel()
	s := newRemote(t, map[string]string{"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "m/1/model": "a"})
	r, _, err := open(t, func(o *Options) {
		polling(0)(o)
		o.Store = s
		o.Backends["odd"] = backendtest.Loading(func(s backend.Spec) error {
			if text, _ := os.ReadFile(filepath.Join(s.Dir, "model")); string(text) == "bad" {
				return errors.New("bad file")
			}
			return nil
		})
	})
	require.NoError(t, err)
	poll := func() string {
		require.NoError(t, r.Poll(t.Context()))
		waitClosed(t, r)
		return states(r)
	}
	s.put("m/2/model", "bad")
	require.Equal(t, "m:1 READY version 2 failed: Internal: bad file; version 1 serves, m:2 UNAVAILABLE Internal: bad file", poll())
	s.put("m/2/model.part", "")
	require.Equal(t, "m:1 READY version 2 failed: Internal: bad file; version 1 serves, m:2 UNAVAILABLE Internal: bad file", poll(), "this store tells no partial files")
	s.remove("m/2/")
	require.Equal(t, "m:1 READY, m:2 UNAVAILABLE Internal: bad file", poll())
	s.put("m/1/model", "bad")
	require.Contains(t, poll(), "m:1 READY version 1 failed: Internal: bad file; version 1 serves as before")
	s.put("m/1/model", "good")
	require.Contains(t, poll(), "m:1 READY,")
	s.put("m/config.pbtxt", "{")
	require.Regexp(t, `m:1 READY Internal: failed to read text proto from .*; version 1 serves, `, poll())
}

// localModel is a repository of local files with the model m, whose file is complete when it reads "good".
type localModel struct {
	*testing.T
	r    *Repository
	dir  string       // of the model
	half atomic.Int32 // loads of files that were not complete
}

func openLocal(t *testing.T, dir string, settle time.Duration) *localModel {
	t.Helper()
	l := &localModel{T: t, dir: filepath.Join(dir, "m")}
	var err error
	l.r, _, err = open(t, func(o *Options) {
		polling(settle)(o)
		o.Backends["odd"] = backendtest.Func(func(_ context.Context, s backend.Spec) (backend.Model, error) {
			if text, _ := os.ReadFile(filepath.Join(s.Dir, "model")); string(text) != "good" {
				l.half.Add(1)
			}
			return &backendtest.Model{Spec: s}, nil
		})
	}, dir)
	require.NoError(t, err)
	return l
}

// localTree makes a repository with a version of the model m.
func localTree(t *testing.T, version string) string {
	return tree(t, map[string]string{"m/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "m/" + version + "/model": "good"})
}

func (l *localModel) write(name, text string) {
	l.Helper()
	path := filepath.Join(l.dir, name)
	require.NoError(l, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(l, os.WriteFile(path, []byte(text), 0o600))
}

func (l *localModel) rename(from, to string) {
	l.Helper()
	require.NoError(l, os.Rename(from, filepath.Join(l.dir, to)))
}

// serves returns the newest version.
func (l *localModel) serves() string {
	m, err := l.r.Model("m", "")
	if err != nil {
		l.Error("the model does not serve:", err)
		return ""
	}
	defer m.Release()
	return m.Version()
}

func (l *localModel) gone() bool {
	return states(l.r) == "" && len(l.r.actual.Snapshot().Model(store.ID{Name: "m"}).ReadyVersions()) == 0
}

const waitsForPart = "READY waiting until version 3 is complete: its name says that model.part is still being written"

// Real files: nothing that is half written is loaded, and a model that is replaced never stops to serve. The
// clock is that of synctest, so no pause of the machine is taken for the end of a change.
func TestKeepLocal(t *testing.T) {
	t.Parallel()
	dir, other := localTree(t, "1"), localTree(t, "5")
	synctest.Test(t, func(t *testing.T) {
		const settle = 2 * time.Second
		l := openLocal(t, dir, settle)
		n := keep(t, l.r, time.Hour)
		synctest.Wait()
		after := func(pause time.Duration) string {
			n.changed <- struct{}{}
			time.Sleep(pause)
			synctest.Wait()
			return l.serves()
		}

		// A file that grows, with pauses below the settle time.
		for i := range "good" {
			l.write("2/model", "good"[:i+1])
			require.Equal(t, "1", after(settle*3/4))
		}
		require.Equal(t, "2", after(settle))

		// A file under a temporary name, for longer than the settle time.
		l.write("3/model.part", "go")
		require.Equal(t, "2", after(5*settle))
		require.Contains(t, states(l.r), "m:2 "+waitsForPart)
		l.write("3/model.part", "good")
		l.rename(filepath.Join(l.dir, "3", "model.part"), "3/model")
		require.Equal(t, "2", after(settle/2))
		require.Equal(t, "3", after(2*settle))

		// A folder under a temporary name beside the versions concerns nobody.
		l.write("4.tmp/model", "good")
		require.Equal(t, "3", after(5*settle))
		l.rename(filepath.Join(l.dir, "4.tmp"), "4")
		require.Equal(t, "4", after(2*settle))

		// The whole model is replaced by another folder.
		require.NoError(t, os.RemoveAll(l.dir))
		require.Equal(t, "4", after(settle/2), "its folder is away")
		l.rename(filepath.Join(other, "m"), "")
		require.Equal(t, "5", after(2*settle))

		// Gone for good.
		require.NoError(t, os.RemoveAll(l.dir))
		require.Equal(t, "5", after(settle/2))
		time.Sleep(2 * settle)
		synctest.Wait()
		require.True(t, l.gone(), states(l.r))
		require.Zero(t, l.half.Load(), "half-written files were loaded")
	})
}

// The notices of the system are enough: each change is found, although the interval is an hour.
func TestKeepNotices(t *testing.T) {
	t.Parallel()
	dir, other := localTree(t, "1"), localTree(t, "2")
	l := openLocal(t, dir, 100*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.r.KeepPolling(ctx, time.Hour, func(err error) { t.Error(err) })
	}()
	defer func() {
		cancel()
		<-done
	}()
	eventually := func(what string, reached func() bool) {
		t.Helper()
		require.Eventually(t, reached, time.Minute, 10*time.Millisecond, what)
	}
	l.rename(filepath.Join(other, "m", "2"), "2")
	eventually("another version", func() bool { return l.serves() == "2" })
	l.write("3/model.part", "good")
	eventually("a file in a new folder", func() bool { return strings.Contains(states(l.r), waitsForPart) })
	l.rename(filepath.Join(l.dir, "3", "model.part"), "3/model")
	eventually("a renamed file", func() bool { return l.serves() == "3" })
	require.NoError(t, os.RemoveAll(l.dir))
	eventually("a removed model", l.gone)
	require.Zero(t, l.half.Load(), "half-written files were loaded")
}

// Whatever lies in a repository, a poll comes to its end and serves the models that are in order.
func TestPollOfOddRepositories(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"good/config.pbtxt": identity, "good/1/": "",
		"broken/config.pbtxt": "input [", "broken/1/": "",
		"panics/config.pbtxt": strings.Replace(identity, "identity", "panics", 1), "panics/1/": "",
		"huge/1/": "", "pipe/1/": "", "pipemodel/config.pbtxt": strings.Replace(identity, "identity", "odd", 1), "pipemodel/1/": "", "shut/1/": "", "socket/1/": "",
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "huge/config.pbtxt"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(dir, "huge/config.pbtxt"), 1<<30))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe/config.pbtxt"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipemodel/1/model.onnx"), 0o600))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "good/1/circle")))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	socket := filepath.Join(t.TempDir(), "s")
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: socket}))
	require.NoError(t, os.Symlink(socket, filepath.Join(dir, "socket/config.pbtxt")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "shut"), 0))
	defer os.Chmod(filepath.Join(dir, "shut"), 0o700) //nolint:errcheck // for the removal of the folder
	r, _, err := open(t, func(o *Options) {
		polling(0)(o)
		o.Backends["panics"] = backendtest.Func(func(context.Context, backend.Spec) (backend.Model, error) { panic("no luck") })
		o.Backends["odd"] = backendtest.Func(func(_ context.Context, s backend.Spec) (backend.Model, error) {
			_, err := os.ReadFile(filepath.Join(s.Dir, s.File)) // waits for ever
			return &backendtest.Model{Spec: s}, err
		})
	}, dir)
	require.ErrorIs(t, err, ErrLoad)
	require.NoError(t, r.Poll(t.Context()))
	m, err := r.Model("good", "")
	require.NoError(t, err)
	m.Release()
	text := states(r)
	require.Contains(t, text, "good:1 READY,")
	require.Contains(t, text, "it is longer than 16 MiB")
	require.Contains(t, text, "it is a named pipe, not a regular file")
	require.Contains(t, text, "it is a socket, not a regular file")
	require.Contains(t, text, "panicked while loading: no luck")
	require.Contains(t, text, "pipemodel:1 UNAVAILABLE Internal: 'model.onnx' is a named pipe")
}
