package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/fleetstate"
	"triton/pkg/inferencepb"
	"triton/server/infer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServer has the models of a server, and fails the loads of broken ones.
type fakeServer struct {
	mu      sync.Mutex
	loaded  map[string]*string
	parts   map[string]bool // loaded for ensembles only
	broken  map[string]string
	calls   []string
	traffic map[string]json.RawMessage
	trace   map[string]json.RawMessage
}

func newFake() *fakeServer {
	return &fakeServer{
		loaded: map[string]*string{}, parts: map[string]bool{}, broken: map[string]string{},
		traffic: map[string]json.RawMessage{}, trace: map[string]json.RawMessage{"trace_rate": json.RawMessage(`"1000"`)},
	}
}

func (f *fakeServer) Loaded() (all []Model) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.loaded)) {
		all = append(all, Model{Name: name, Serves: true, Composing: f.parts[name], Override: f.loaded[name]})
	}
	return all
}

func (f *fakeServer) Load(_ context.Context, name string, o infer.LoadOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "load "+name)
	if why := f.broken[name]; why != "" {
		return errors.New(why)
	}
	f.loaded[name] = o.Config
	return nil
}

func (f *fakeServer) Unload(_ context.Context, name string, _ bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "unload "+name)
	delete(f.loaded, name)
	return nil
}

func (f *fakeServer) ConfigWithVersions(_ context.Context, name string, p *inferencepb.ModelVersionPolicy) (string, error) {
	if name == "unknown" {
		return "", errors.New("there is no such model")
	}
	return fmt.Sprintf(`{"name":%q,"policy":%q}`, name, strings.ReplaceAll(p.String(), "  ", " ")), nil
}

func (f *fakeServer) Log() (map[string]json.RawMessage, error)         { return nil, nil }
func (f *fakeServer) SetLog(map[string]json.RawMessage) error          { return errors.New("no log") }
func (f *fakeServer) Trace(string) (map[string]json.RawMessage, error) { return f.trace, nil }
func (f *fakeServer) SetTrace(_ string, change map[string]json.RawMessage) error {
	maps.Copy(f.trace, change)
	return nil
}

func (f *fakeServer) Traffic(_ context.Context, model string) (json.RawMessage, error) {
	return f.traffic[model], nil
}

func (f *fakeServer) SetTraffic(_ context.Context, model string, rules json.RawMessage) error {
	f.calls = append(f.calls, "traffic "+model)
	f.traffic[model] = rules
	return nil
}

// took returns the calls since the last one.
func (f *fakeServer) took() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.calls)
	text := strings.Join(f.calls, ", ")
	f.calls = nil
	return text
}

func newController(t *testing.T, f *fakeServer, file string, write bool) *Controller {
	t.Helper()
	c, err := New(Options{
		From: file, Interval: time.Second, Write: write, Loads: 2, Models: f, Settings: f, Traffic: f, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return c
}

func put(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// TestReconcile: what each document makes of the server, what is left alone, and that nothing is
// done twice.
func TestReconcile(t *testing.T) {
	t.Parallel()
	f, file := newFake(), filepath.Join(t.TempDir(), "state")
	f.loaded["old"], f.loaded["part"], f.parts["part"] = nil, nil, true
	c := newController(t, f, file, false)
	require.ErrorContains(t, c.Sync(t.Context()), "No such file")
	require.Equal(t, []string{"there is no state yet: the state " + file + " cannot be read: No such file or directory"}, c.Reasons(true))
	require.Empty(t, f.took(), "without a document nothing is unloaded")
	for _, step := range []struct{ document, calls, failure string }{
		{`{"models":{"a":{},"b":{"versions":[2]}}}`, "load a, load b, unload old", ""},
		{`{"models":{"a":{},"b":{"versions":[2]}},"note":1}`, "", ""},
		{`{"models":{"a":{"config":{"x":1}},"b":{"versions":[2,3]}}}`, "load a, load b", ""},
		{`{"models":{"a":{"config":{ "x" : 1 }},"b":{"versions":[2,3]}}}`, "", ""},
		{`{"models":{"a":{"config":{"x":1},"revision":"r"},"b":{"versions":[2,3]}}}`, "load a", ""},
		{`{"models":{"a":{"config":{"x":1},"revision":"r"}},"prune":false}`, "", ""},
		{`{"models":{"a":{"config":{"x":1},"revision":"r","traffic":{"w":1}}}}`, "traffic a, unload b", ""},
		{`{"models":{"a":{"traffic":{"w":1}}}}`, "load a", ""},
		{`{"models":{"unknown":{"versions":[1]},"a":{}}}`, "", "load model 'unknown' failed: there is no such model"},
		{`{"models":{"a":{}},"log":{"log_info":true}}`, "", "set log log_info failed: no log"},
		{`{"models":{"a":{}},"trace":{"trace_rate":7}}`, "", ""},
		{`{"models":{}}`, "unload a", ""},
		{`{"models":`, "", "unexpected end"},
	} {
		put(t, file, step.document)
		for again := range 2 {
			err := c.Sync(t.Context())
			if step.failure == "" {
				require.NoError(t, err, step.document)
			} else {
				require.ErrorContains(t, err, step.failure)
			}
			if again == 0 {
				require.Equal(t, step.calls, f.took(), step.document)
			} else {
				require.Empty(t, f.took(), step.document)
			}
		}
	}
	require.Equal(t, "7", string(f.trace["trace_rate"]))
	require.Contains(t, f.loaded, "part", "a step of an ensemble stays")
	put(t, file, `{"models":{"a":{}}}`)
	require.NoError(t, c.Sync(t.Context()))
	require.Equal(t, "load a", f.took())
	delete(f.loaded, "a") // by someone else
	require.NoError(t, c.Sync(t.Context()))
	require.Equal(t, "load a", f.took())
}

// TestRetries: a failed load is repeated after 1 s, 2 s and so on up to 5 minutes, and at once with
// a new document.
func TestRetries(t *testing.T) {
	t.Parallel()
	f, file := newFake(), filepath.Join(t.TempDir(), "state")
	put(t, file, `{"models":{"bad":{},"good":{}}}`)
	synctest.Test(t, func(t *testing.T) {
		f.broken["bad"] = "it is broken"
		c := newController(t, f, file, false)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		synctest.Wait()
		require.Equal(t, "load bad, load good", f.took())
		require.Equal(t, []string{"model 'bad' of the state is not ready"}, c.Reasons(true))
		require.Empty(t, c.Reasons(false))
		loads := func(d time.Duration) int {
			time.Sleep(d)
			synctest.Wait()
			return strings.Count(f.took(), "load bad")
		}
		require.Equal(t, 4, loads(20*time.Second), "after about 1, 3, 7 and 15 s")
		loads(time.Hour)
		require.InDelta(t, 12, loads(time.Hour), 1)
		require.Equal(t, []string{"load model 'bad' failed: it is broken"}, c.Status().Failures)
		put(t, file, `{"models":{"bad":{},"good":{}},"generation":2}`)
		require.Equal(t, 2, loads(2500*time.Millisecond), "at once, and after 1 s")
		f.mu.Lock()
		f.broken["bad"] = ""
		f.mu.Unlock()
		require.Equal(t, 1, loads(time.Minute))
		require.Empty(t, c.Status().Failures)
		require.Empty(t, c.Reasons(true))
		require.EqualValues(t, 2, c.Status().Generation)
		cancel()
		<-done
	})
}

// TestWriters: loads and unloads of clients of several servers change one file; no change is lost,
// and no reader sees half a file.
func TestWriters(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	put(t, file, `{"models":{},"owner":"team"}`)
	ctx, cancel := context.WithCancel(t.Context())
	var looks, clients sync.WaitGroup
	var all []*fakeServer
	const servers, models = 3, 20
	for i := range servers {
		f := newFake()
		all = append(all, f)
		c := newController(t, f, file, true)
		looks.Go(func() {
			for ctx.Err() == nil {
				if err := c.Sync(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("a look failed: %v", err)
					return
				}
			}
		})
		clients.Go(func() {
			for n := range models {
				name := fmt.Sprintf("m%d-%d", i, n)
				if err := c.Load(ctx, name, infer.LoadOptions{}); err != nil {
					t.Errorf("load: %v", err)
				}
				if n%2 == 0 {
					if err := c.Unload(ctx, name, false); err != nil {
						t.Errorf("unload: %v", err)
					}
				}
			}
		})
	}
	clients.Wait()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	d, _, err := fleetstate.Parse(text)
	require.NoError(t, err)
	require.Len(t, d.Models, servers*models/2)
	require.EqualValues(t, servers*models*3/2, d.Generation)
	require.Contains(t, string(text), `"owner": "team"`)
	for _, f := range all {
		require.Eventually(t, func() bool { return len(f.Loaded()) == servers*models/2 }, time.Minute, time.Millisecond)
	}
	cancel()
	looks.Wait()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "no temporary files")
}

// TestWriteRefuses: what a client cannot write is an error, and the lock of another process is
// waited for only as long as the request lives.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "state.yaml")
	put(t, file, "models: {a: {}}\n")
	f := newFake()
	c := newController(t, f, file, true)
	require.NoError(t, c.Sync(t.Context()))
	require.ErrorContains(t, c.Load(t.Context(), "b", infer.LoadOptions{}), "comments of YAML")
	require.ErrorContains(t, c.Load(t.Context(), "b", infer.LoadOptions{Files: map[string][]byte{"file:1/m": nil}}), "cannot be written")
	_, err := New(Options{From: "http://127.0.0.1:1/state", Write: true})
	require.ErrorContains(t, err, "to a file only")
	_, err = New(Options{From: "http://"})
	require.ErrorContains(t, err, "not valid")
	readOnly := newController(t, f, file, false)
	require.ErrorContains(t, readOnly.Unload(t.Context(), "a", false), "--state-write")
	_, err = readOnly.Apply(t.Context(), []byte(`{"models":{}}`), false)
	require.ErrorContains(t, err, "--state-write")
	r, err := readOnly.Apply(t.Context(), []byte(`{"models":{}}`), true)
	require.NoError(t, err)
	require.NotEmpty(t, r.Actions)
	require.NotContains(t, newURL(t, "http://user:secret@127.0.0.1:1/state").name(), "secret")
	_, err = newURL(t, "http://user:secret@127.0.0.1:1/state").read(t.Context())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

func newURL(t *testing.T, text string) source {
	t.Helper()
	s, err := newSource(text)
	require.NoError(t, err)
	return s
}
