//go:build cgo && linux

package library_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/cache"
	"triton/server/cache/library"
	"triton/server/capi/capitest"
	"triton/server/infer"
)

// TestMain ignores the calls that the library of the tests never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(code int) {
			_ = os.RemoveAll(shared.dir)
			os.Exit(code)
		}),
		goleak.IgnoreAnyFunction("triton/server/cache/library.(*worker).run"),
		goleak.IgnoreAnyFunction("triton/server/cache/library.(*Cache).finalize"))
}

// build compiles a cache library into a folder of caches.
func build(t testing.TB, source string, flags ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	capitest.Compile(t, "../../capi/include", source, filepath.Join(dir, "test", library.FileName("test")), flags...)
	return dir
}

var shared struct {
	sync.Mutex
	dir string
}

// compiled returns the folder of the library of the tests, which is compiled once.
func compiled(t testing.TB) string {
	shared.Lock()
	defer shared.Unlock()
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "triton-test-") //nolint:usetesting // all tests share it
		require.NoError(t, err)
		require.NoError(t, os.CopyFS(dir, os.DirFS(build(t, "testdata/cache.c"))))
		shared.dir = dir
	}
	return shared.dir
}

// world is a cache in the library of the tests.
type world struct {
	*library.Cache
	pool *tensor.Pool
	log  *textLog
}

// open opens the library of the tests in a mode.
func open(t testing.TB, mode string, change ...func(*library.Options)) *world {
	t.Helper()
	path := filepath.Join(compiled(t), "test", library.FileName("test"))
	w := &world{pool: tensor.NewPool(), log: &textLog{}}
	o := library.Options{Name: "test", Path: path, Settings: map[string]string{"mode": mode}, Pool: w.pool, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	for _, c := range change {
		c(&o)
	}
	var err error
	w.Cache, err = library.Open(o)
	require.NoError(t, err)
	return w
}

// textLog is a log that may be read while it is written.
type textLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *textLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *textLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *textLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// start is open with the cache initialized; the test closes it.
func start(t testing.TB, mode string, change ...func(*library.Options)) *world {
	t.Helper()
	w := open(t, mode, change...)
	require.NoError(t, w.Check(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, w.Close())
		require.Zero(t, w.pool.Outstanding())
	})
	return w
}

// response returns a response with one output.
func (w *world) response(text string) *infer.Response {
	r := infer.NewResponse()
	b := w.pool.Get(len(text))
	copy(b.Bytes(), text)
	r.Add("OUT", tensor.Uint8, tensor.Shape{int64(len(text))}, tensor.NewData(b))
	return r
}

func (w *world) insert(key byte, text string) error {
	r := w.response(text)
	defer r.Release()
	return w.Insert(cache.Key{key}, r)
}

// lookup returns the text under a key; empty: it was not found.
func (w *world) lookup(key byte) string {
	r := infer.NewResponse()
	defer r.Release()
	if !w.Lookup(context.Background(), cache.Key{key}, r) {
		if len(r.Outputs) > 0 {
			return "a miss with outputs"
		}
		return ""
	}
	text, _ := r.Outputs[0].Data.Contiguous()
	return string(text)
}

func TestCache(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	require.Empty(t, w.lookup(1))
	require.NoError(t, w.insert(1, "one"))
	require.Equal(t, cache.ErrExists, w.insert(1, "uno"))
	long := strings.Repeat("x", 3<<20)
	require.NoError(t, w.insert(2, long))
	require.Equal(t, "one", w.lookup(1))
	require.True(t, long == w.lookup(2))
	require.Contains(t, w.log.String(), "Creating TritonCache with name: 'test', libpath: '")
	require.NotContains(t, w.log.String(), "mode", "settings may be secret")
	require.NoError(t, w.Close())
	require.Empty(t, w.lookup(1), "closed")
}

// TestFaults: what a library does wrong is a miss or an error of the insertion, and is logged.
func TestFaults(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct{ insert, log string }{
		"no copy":    {"", "the library reported success without a call of TRITONCACHE_Copy"},
		"damage":     {"", "the value is not a response of this version"},
		"short":      {"", "the value is not a response of this version"},
		"huge":       {"", "no memory for a response from the cache"},
		"copy twice": {"", "TRITONCACHE_Copy was called twice for one entry"},
		"fail late":  {"", "failed after the copy"},
		"refuse":     {"", ""},
		"keep":       {"", "TRITONCACHE_Copy was called after the lookup or insertion had returned"},
		"full":       {"the cache is full", ""},
		"no memory":  {"buffer was nullptr", ""},
		"other size": {"Expected size of buffer in cache does not match. Expected: 47, received: 46", ""},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			gate := filepath.Join(t.TempDir(), "gate")
			w := start(t, mode, func(o *library.Options) {
				if mode == "keep" {
					o.Settings["gate"] = gate
				}
			})
			if err := w.insert(1, "one"); want.insert == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, want.insert)
				require.Equal(t, status.Internal, status.CodeOf(err))
			}
			// In mode keep a thread of the library uses the entry now. The lookup waits for it.
			require.NoError(t, os.WriteFile(gate, nil, 0o600))
			require.Empty(t, w.lookup(1))
			require.Contains(t, w.log.String(), want.log)
			if want.log == "" {
				require.NotContains(t, w.log.String(), "failed")
			}
		})
	}
}

// TestMisuse: the functions of the API refuse wrong arguments with Triton's texts.
func TestMisuse(t *testing.T) {
	t.Parallel()
	w := start(t, "misuse")
	require.Empty(t, w.lookup(1))
	for _, line := range strings.Split(strings.TrimSpace(`
version: major or minor was nullptr
count of nothing: entry was nullptr
add to nothing: entry, base, or attrs was nullptr
add nothing: entry, base, or attrs was nullptr
add without attributes: entry, base, or attrs was nullptr
add of no size: Buffer byte size was zero
add of a GPU: Only buffers in CPU memory are allowed in cache currently
get what is not there: index was greater than count
get nothing: entry, base, or attrs was nullptr
set what is not there: index was greater than count
set in nothing: entry was nullptr
copy nothing: allocator or entry was nullptr
copy an empty entry: Expected number of responses in cache does not match. Expected: 1, received: 0
add: ok
set memory of a GPU: Only buffers in CPU memory are allowed in cache currently
get: ok
got: 1 of 4, type 0
set without memory: ok
copy without memory: buffer was nullptr
set: ok
add another: ok
copy two: Expected number of responses in cache does not match. Expected: 1, received: 2`), "\n") {
		require.Contains(t, w.log.String(), line)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	w := open(t, "echo", func(o *library.Options) { o.Settings["size"] = `1"` })
	err := w.Check(t.Context())
	require.EqualError(t, err, `{"mode":"echo","size":"1\""}`)
	require.Equal(t, status.InvalidArg, status.CodeOf(err))
	require.Empty(t, w.lookup(1), "not initialized")
	require.NoError(t, w.insert(1, "one"))
	require.NoError(t, w.Close())

	w = open(t, "null")
	require.EqualError(t, w.Check(t.Context()), "Failed to initialize cache implementation")
	require.NoError(t, w.Close())

	w = open(t, "bad end")
	require.NoError(t, w.Check(t.Context()))
	require.EqualError(t, w.Close(), "failed finalizing cache: it does not want to end")
	require.NoError(t, w.Close(), "the second call does nothing")

	w = start(t, "key")
	require.Empty(t, w.lookup(0xab))
	require.Contains(t, w.log.String(), "ab"+strings.Repeat("0", 62))
}

// TestSlowStart: a cache that is ready after the server has given it up is finalized, and its memory is
// not freed before.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	w := open(t, "bad end", func(o *library.Options) { o.Settings["start"] = "slow" })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the server stops"))
	require.EqualError(t, w.Check(ctx), "cache library 'test' did not initialize its cache: the server stops")
	require.Empty(t, w.lookup(1))
	require.EqualError(t, w.Close(), "failed finalizing cache: it does not want to end")
}

func TestUnusable(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"-DTRITONCACHE_CacheInsert=other":  "unable to find required entrypoint 'TRITONCACHE_CacheInsert' in shared library",
		"-DTRITONCACHE_Copy=TRITONCACHE_X": "this program lacks the functions it needs: TRITONCACHE_X",
	} {
		path, found := library.Find(build(t, "testdata/cache.c", flags), "test")
		require.True(t, found)
		_, err := library.Open(library.Options{Name: "test", Path: path, Pool: tensor.NewPool(), Log: slog.New(slog.DiscardHandler)})
		require.ErrorContains(t, err, want)
		require.Equal(t, status.NotFound, status.CodeOf(err))
	}
	dir := t.TempDir()
	for _, name := range []string{"", "..", "a/b", "none"} {
		_, found := library.Find(t.TempDir(), name)
		require.False(t, found, name)
	}
	outside := filepath.Join(dir, library.FileName(".."))
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	_, found := library.Find(filepath.Join(dir, "caches"), "..")
	require.False(t, found, "outside of the folder")
	require.EqualError(t, library.NotFound("/dir", "x"), "unable to find 'libtritoncache_x.so' for cache. Searched: /dir")
}

// TestHangs: requests go on without a library that does not answer, and the end of the cache waits no
// longer than its time.
func TestHangs(t *testing.T) {
	t.Parallel()
	w := open(t, "hang", func(o *library.Options) { o.Timeout = 20 * time.Millisecond })
	require.NoError(t, w.Check(t.Context()))
	require.Empty(t, w.lookup(1))
	require.Contains(t, w.log.String(), "cache library 'test' failed; until it answers again, lookups miss and responses are not stored")
	require.Contains(t, w.log.String(), "the library has not answered within the timeout")
	require.NoError(t, w.insert(1, "one"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, w.Lookup(ctx, cache.Key{1}, infer.NewResponse()))
}

// TestLate: an answer after the timeout is thrown away.
func TestLate(t *testing.T) {
	t.Parallel()
	w := start(t, "slow", func(o *library.Options) { o.Timeout = 10 * time.Millisecond })
	require.NoError(t, w.insert(1, "one"))
	require.Empty(t, w.lookup(1))
	require.NoError(t, w.Close())
	require.Zero(t, w.pool.Outstanding(), "the late answer")
}

// TestManyAtOnce: calls on many goroutines do not mix their values.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	for i := range 16 {
		require.NoError(t, w.insert(byte(i), fmt.Sprintf("value %d", i)))
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 200 {
				if got := w.lookup(byte(i)); got != fmt.Sprintf("value %d", i) {
					t.Errorf("key %d has %q", i, got)
				}
			}
		})
	}
	all.Wait()
}

// TestCopyBeside: a thread of the library copies while the lookup returns, or later. The value comes
// whole or not at all, and the memory of a copy that comes too late is not that of another call.
func TestCopyBeside(t *testing.T) {
	t.Parallel()
	w := start(t, "copy beside")
	long := strings.Repeat("x", 20000)
	require.NoError(t, w.insert(1, long))
	found := 0
	for range 2000 {
		switch got := w.lookup(1); got {
		case long:
			found++
		case "":
		default:
			t.Fatalf("a value of %d bytes", len(got))
		}
	}
	t.Logf("%d of 2000 copies were in time", found)
	require.NotContains(t, w.log.String(), "is not a response of this version")
	require.NotContains(t, w.log.String(), "no memory for a response")
}

// TestNoGrowth: calls leave nothing behind, in C or in the pool.
func TestNoGrowth(t *testing.T) {
	w := start(t, "")
	heap := start(t, "heap")
	used := func() (n int) {
		heap.log.Reset()
		time.Sleep(1100 * time.Millisecond) // the log says it once a second
		require.Empty(t, heap.lookup(1))
		_, text, _ := strings.Cut(heap.log.String(), "error=")
		_, err := fmt.Sscan(text, &n)
		require.NoError(t, err, heap.log.String())
		return n
	}
	require.NoError(t, w.insert(1, "one"))
	require.Equal(t, "one", w.lookup(1))
	before := used()
	for range 20_000 {
		w.lookup(1)
		w.lookup(2)
		require.Equal(t, cache.ErrExists, w.insert(1, "one"))
	}
	require.Less(t, used()-before, 64<<10, "60000 calls")
	require.Zero(t, w.pool.Outstanding())
}
