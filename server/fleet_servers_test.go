package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/fleetstate"
	"triton/server"
	"triton/server/fleet"
	"triton/server/repository"
	"triton/server/servertest"
)

// stateful options: the models a, b and c, and a document.
func withState(file string, change func(*server.Options)) []servertest.Option {
	identity := servertest.Identity("INT32", "4", 8)
	return []servertest.Option{
		servertest.Model("a", identity), servertest.Model("b", identity), servertest.Model("c", identity),
		servertest.With(func(o *server.Options) {
			o.State.From, o.State.Interval = file, 10*time.Millisecond
			if change != nil {
				change(o)
			}
		}),
	}
}

func stateFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// serving returns the names of the ready models.
func serving(t *testing.T, s *servertest.Server) string {
	t.Helper()
	var names []string
	for _, m := range s.Service().Index(true).GetModels() {
		names = append(names, m.GetName())
	}
	return strings.Join(names, " ")
}

func waitServing(t *testing.T, s *servertest.Server, want string) {
	t.Helper()
	require.Eventually(t, func() bool { return serving(t, s) == want }, time.Minute, 5*time.Millisecond, "%s", want)
}

// condition returns the condition of the desired state from the verbose health check.
func condition(t *testing.T, s *servertest.Server) (ready bool, reasons []string, c fleet.Status) {
	t.Helper()
	code, r := health(t, s, "/v2/health/ready")
	text, err := json.Marshal(r.State)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &c))
	return code == http.StatusOK, r.Reasons, c
}

func waitReason(t *testing.T, s *servertest.Server, want string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, _, c := condition(t, s)
		return strings.Contains(c.ReadError+strings.Join(c.Failures, "\n"), want)
	}, time.Minute, 5*time.Millisecond, want)
}

// TestStateFollowsTheFile: good, broken, half-written and missing files, files that a rename
// replaces, and a link that is switched as Kubernetes switches those of a ConfigMap.
func TestStateFollowsTheFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(version, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(folder, version), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, version, "state.yaml"), []byte(text), 0o600))
		link := filepath.Join(folder, "..data_tmp")
		require.NoError(t, os.Symlink(version, link))
		require.NoError(t, os.Rename(link, filepath.Join(folder, "..data")))
	}
	put("..1", "generation: 1\nmodels: {a: {}, b: {}}\n")
	file := filepath.Join(folder, "state.yaml")
	require.NoError(t, os.Symlink(filepath.Join("..data", "state.yaml"), file))
	s := servertest.Start(t, withState(file, nil)...)
	require.Equal(t, "a b", serving(t, s), "the state is applied before the ports open")
	ready, _, c := condition(t, s)
	require.True(t, ready)
	require.EqualValues(t, 1, c.Generation)
	require.NotNil(t, c.LastSuccess)

	put("..2", "generation: 2\nmodels: {b: {}, c: {}}\n")
	waitServing(t, s, "b c")
	put("..3", "generation: 3\nmodels: {b:")
	waitReason(t, s, "cannot be read")
	require.Equal(t, "b c", serving(t, s), "the last good state is in force")
	ready, _, _ = condition(t, s)
	require.True(t, ready)
	require.NoError(t, os.Remove(filepath.Join(folder, "..data")))
	waitReason(t, s, "No such file")
	require.Equal(t, "b c", serving(t, s))
	_, page := get(t, newClient(t), "http://"+s.Metrics+"/metrics")
	require.Regexp(t, `triton_state_generation 2\n`, page)
	require.Regexp(t, `triton_state_errors_total [1-9]`, page)

	put("..4", "generation: 4\nmodels: {a: {}, none: {}}\nprune: false\n")
	waitServing(t, s, "a b c")
	waitReason(t, s, "load model 'none' failed")
	ready, reasons, _ := condition(t, s)
	require.False(t, ready)
	require.Contains(t, reasons, "model 'none' of the state is not ready")
	require.Contains(t, s.Service().Index(false).String(), "the state has this model, the model repository does not")
	put("..5", "generation: 5\nmodels: {a: {}, none: {}}\nrequired: [a]\n")
	waitServing(t, s, "a")
	require.Eventually(t, func() bool { ready, _, _ := condition(t, s); return ready }, time.Minute, 5*time.Millisecond, "only a is required")
}

// TestStateSettings: versions, configurations, revisions and settings; what others change is
// corrected.
func TestStateSettings(t *testing.T) {
	t.Parallel()
	file := stateFile(t, `{"models":{"a":{"config":{"backend":"identity","max_batch_size":2,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}},
"b":{"versions":[1]}},"trace":{"trace_rate":"77"}}`)
	s := servertest.Start(t, withState(file, nil)...)
	c, base := newClient(t), "http://"+s.HTTP
	_, config := get(t, c, base+"/v2/models/a/config")
	require.Contains(t, config, `"max_batch_size":2`)
	_, config = get(t, c, base+"/v2/models/b/config")
	require.Contains(t, config, `"specific":{"versions":[1]}`)
	require.Contains(t, config, `"max_batch_size":8`)
	rate := func() string { _, text := get(t, c, base+"/v2/trace/setting"); return text }
	require.Contains(t, rate(), `"trace_rate":"77"`)
	code, _, err := post(c, base+"/v2/trace/setting", `{"trace_rate":"5"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	require.Eventually(t, func() bool { return strings.Contains(rate(), `"trace_rate":"77"`) }, time.Minute, 5*time.Millisecond)

	// Clients may not change the models.
	for _, path := range []string{"a/unload", "c/load"} {
		code, text, err := post(c, base+"/v2/repository/models/"+path, "{}")
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, text, "the state "+file+" decides which models are loaded")
	}
	_, text := get(t, c, base+"/v2/repository/state")
	d, warnings, err := fleetstate.Parse([]byte(text))
	require.NoError(t, err, text)
	require.Empty(t, warnings)
	require.Equal(t, []string{"a", "b"}, d.Names())
	require.Equal(t, []int64{1}, d.Models["b"].Versions.Specific)
	require.Contains(t, string(d.Models["a"].Config), `"max_batch_size":2`)
	require.JSONEq(t, `"77"`, string(d.Trace["trace_rate"]))
	// What is exported is what serves.
	code, text = put(t, c, base+"/v2/repository/state?dry_run", text)
	require.Equal(t, http.StatusOK, code)
	require.JSONEq(t, `{"actions":[]}`, text)
	code, text = put(t, c, base+"/v2/repository/state", text)
	require.Equal(t, http.StatusBadRequest, code, text)
	code, text = put(t, c, base+"/v2/repository/state", `{"models":{}}`)
	require.Equal(t, http.StatusServiceUnavailable, code, text)

	loads := func() string { _, page := get(t, c, "http://"+s.Metrics+"/metrics"); return page }
	before := loads()
	require.NoError(t, os.WriteFile(file, []byte(`{"models":{"b":{"revision":"2"}}}`), 0o600))
	waitServing(t, s, "b")
	require.NotEqual(t, before, loads())
	require.Eventually(t, func() bool {
		_, config := get(t, c, base+"/v2/models/b/config")
		return !strings.Contains(config, `"specific"`)
	}, time.Minute, 20*time.Millisecond, "without versions the model's own policy is back")
}

func put(t *testing.T, c *http.Client, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := c.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// TestStateIsWritten: two servers share a file that their clients' loads and unloads change. No
// change is lost, fields that are not known stay, and a new server comes up the same.
func TestStateIsWritten(t *testing.T) {
	t.Parallel()
	file := stateFile(t, `{"owner":"team","models":{"a":{"note":1}}}`)
	write := func(o *server.Options) { o.State.Write = true }
	one, two := servertest.Start(t, withState(file, write)...), servertest.Start(t, withState(file, write)...)
	c := newClient(t)
	var clients sync.WaitGroup
	for s, name := range map[*servertest.Server]string{one: "b", two: "c"} {
		clients.Go(func() {
			code, text, err := post(c, "http://"+s.HTTP+"/v2/repository/models/"+name+"/load", "{}")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code, text)
		})
	}
	clients.Wait()
	waitServing(t, one, "a b c")
	waitServing(t, two, "a b c")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, `{"owner":"team","models":{"a":{"note":1},"b":{},"c":{}},"generation":2}`, string(text))
	code, body, err := post(c, "http://"+one.HTTP+"/v2/repository/models/a/unload", "{}")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, body)
	waitServing(t, two, "b c")
	three := servertest.Start(t, withState(file, write)...)
	require.Equal(t, "b c", serving(t, three))

	// A whole state may be applied, unless it is older than the file.
	code, body = put(t, c, "http://"+one.HTTP+"/v2/repository/state", `{"generation":1,"models":{"a":{}}}`)
	require.Equal(t, http.StatusConflict, code, body)
	code, body = put(t, c, "http://"+one.HTTP+"/v2/repository/state", `{"generation":3,"models":{"a":{}},"mine":1}`)
	require.Equal(t, http.StatusOK, code, body)
	waitServing(t, three, "a")
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, `{"generation":4,"models":{"a":{}},"mine":1}`, string(text))
}

// TestStateFromURL: a server that flaps; entity tags; the copy of the last good state.
func TestStateFromURL(t *testing.T) {
	t.Parallel()
	var document atomic.Pointer[string]
	var down atomic.Bool
	var unchanged atomic.Int64
	set := func(text string) { document.Store(&text) }
	set(`{"generation":1,"models":{"a":{}}}`)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := *document.Load()
		tag := fmt.Sprintf(`"%x"`, text)
		switch {
		case down.Load():
			w.WriteHeader(http.StatusBadGateway)
		case r.Header.Get("If-None-Match") == tag:
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", tag)
			fmt.Fprint(w, text)
		}
	}))
	defer source.Close()
	cache := filepath.Join(t.TempDir(), "new", "state")
	options := func(o *server.Options) { o.State.Cache = cache }
	s := servertest.Start(t, withState(source.URL, options)...)
	require.Equal(t, "a", serving(t, s))
	require.Eventually(t, func() bool { return unchanged.Load() > 3 }, time.Minute, 5*time.Millisecond)
	down.Store(true)
	waitReason(t, s, "status 502")
	set(`{"generation":2,"models":{"b":{}}}`)
	require.Equal(t, "a", serving(t, s))
	down.Store(false)
	waitServing(t, s, "b")
	set(`<html>`)
	waitReason(t, s, "the state is no object")
	require.Equal(t, "b", serving(t, s))
	down.Store(true)

	// A start without the source uses the copy; without a copy --exit-on-error decides.
	again := servertest.Start(t, withState(source.URL, options)...)
	require.Equal(t, "b", serving(t, again))
	ready, _, c := condition(t, again)
	require.True(t, ready)
	require.True(t, c.Cached)
	_, err := servertest.Try(t, withState(source.URL, nil)...)
	require.ErrorContains(t, err, "creating server: failed to apply the state: the state "+source.URL+" cannot be fetched: status 502")
	waits := servertest.Start(t, withState(source.URL, func(o *server.Options) { o.ExitOnError = false })...)
	ready, reasons, _ := condition(t, waits)
	require.False(t, ready)
	require.Contains(t, reasons[0], "there is no state yet")
	set(`{"generation":3,"models":{"c":{}}}`)
	down.Store(false)
	for _, s := range []*servertest.Server{s, again, waits} {
		waitServing(t, s, "c")
	}
	_, _, c = condition(t, again)
	require.False(t, c.Cached)
}

// TestStateApplied: without a document of its own a server applies one on request, once.
func TestStateApplied(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, withState("", func(o *server.Options) { o.Models.Control = repository.ControlExplicit })...)
	c, url := newClient(t), "http://"+s.HTTP+"/v2/repository/state"
	state := `{"models":{"a":{"versions":"all"},"b":{},"none":{}},"trace":{"trace_rate":"9"}}`
	code, text := put(t, c, url+"?dry_run=true", state)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `{"do":"load","model":"a","what":"model","from":"not loaded","to":"loaded"}`)
	require.Empty(t, serving(t, s))
	code, text = put(t, c, url, state)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `"error":"failed to load 'none', failed to poll from model repository"`)
	require.Equal(t, "a b", serving(t, s))
	_, text = put(t, c, url+"?dry_run", `{"models":{"a":{"versions":"all"}},"trace":{"trace_rate":"9"}}`)
	require.JSONEq(t, `{"actions":[{"do":"unload","model":"b","what":"model","from":"loaded","to":"not in the state"}]}`, text)
	code, text = put(t, c, url, "{")
	require.Equal(t, http.StatusBadRequest, code, text)
	code, text, err := post(c, url, "{}")
	require.NoError(t, err)
	require.Equal(t, http.StatusMethodNotAllowed, code, text)
}

// TestStateWithTraffic: the rules of a document are set, and set once.
func TestStateWithTraffic(t *testing.T) {
	t.Parallel()
	file := stateFile(t, `{"generation":1,"models":{"a":{"traffic":{"weights":[{"model":"b","weight":30},{"version":"1","weight":70}],"sticky":{"header":"X-User"}}},"b":{}}}`)
	s := servertest.Start(t, withState(file, nil)...)
	client := newClient(t)
	rules := func() (body, tag string) {
		resp, err := client.Get("http://" + s.HTTP + "/v2/repository/models/a/traffic")
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(text), resp.Header.Get("ETag")
	}
	var tag string
	require.Eventually(t, func() (set bool) {
		var body string
		body, tag = rules()
		return strings.Contains(body, "X-User")
	}, time.Minute, 5*time.Millisecond)
	looks := func() float64 {
		_, _, c := condition(t, s)
		require.Empty(t, c.Failures)
		return float64(c.LastSuccess.UnixNano())
	}
	for range 5 { // looks at the document and the server
		before := looks()
		require.Eventually(t, func() bool { return looks() > before }, time.Minute, 5*time.Millisecond)
	}
	_, again := rules()
	require.Equal(t, tag, again, "the rules were set again")
}
