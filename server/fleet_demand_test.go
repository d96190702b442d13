package server_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/fleetstate"
	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

// demandState returns options of a server that follows a document and loads models when requests
// need them.
func demandState(file string, change func(*server.Options)) []servertest.Option {
	return withState(file, func(o *server.Options) {
		o.Models.Control = repository.ControlAuto
		if change != nil {
			change(o)
		}
	})
}

// askFor sends a request to a model and returns the status code.
func askFor(t *testing.T, s *servertest.Server, model string) (int, string) {
	t.Helper()
	code, text, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/"+model+"/infer",
		`{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,4],"data":[1,2,3,4]}]}`)
	require.NoError(t, err)
	return code, text
}

func requireAnswer(t *testing.T, s *servertest.Server, model string) {
	t.Helper()
	code, text := askFor(t, s, model)
	require.Equal(t, http.StatusOK, code, text)
}

// waitKnown waits until a request can load a model, or cannot any more.
func waitKnown(t *testing.T, s *servertest.Server, model string, want int) {
	t.Helper()
	require.Eventually(t, func() bool { code, _ := askFor(t, s, model); return code == want }, time.Minute, 20*time.Millisecond, "%s: %d", model, want)
}

// TestStateOnDemand: requests load the models of the document and no others; pinned ones are loaded from
// the start, and only they are needed to be ready. What the document says later about pins, models and
// configurations holds for loaded models and for those that are not.
func TestStateOnDemand(t *testing.T) {
	t.Parallel()
	file := stateFile(t, `{"models":{"a":{"pin":true},"b":{}}}`)
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	s := servertest.Start(t, demandState(file, nil)...)
	c, base := newClient(t), "http://"+s.HTTP
	require.Equal(t, "a", serving(t, s))
	ready, reasons, _ := condition(t, s)
	require.True(t, ready, reasons)
	requireAnswer(t, s, "b")
	require.Equal(t, "a b", serving(t, s))
	code, text := askFor(t, s, "c")
	require.Equal(t, http.StatusNotFound, code, text)
	code, text = get(t, c, base+"/v2/models/c")
	require.NotEqual(t, http.StatusOK, code, text)
	code, text = get(t, c, base+"/v2/models/c/ready")
	require.NotEqual(t, http.StatusOK, code, text)
	require.Contains(t, s.Service().Index(false).String(), "the state does not have this model")

	// A model that is loaded gets its configuration at once, one that is not with its next load.
	config := `{"backend":"identity","max_batch_size":2,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
	hasBatch := func(model, size string) func() bool {
		return func() bool {
			_, text := get(t, c, base+"/v2/models/"+model+"/config")
			return strings.Contains(text, `"max_batch_size":`+size+`,`)
		}
	}
	write(`{"models":{"a":{"pin":true},"b":{"config":` + config + `},"c":{"config":` + config + `}}}`)
	require.Eventually(t, hasBatch("b", "2"), time.Minute, 20*time.Millisecond)
	require.Eventually(t, hasBatch("c", "2"), time.Minute, 20*time.Millisecond)
	require.Equal(t, "a b", serving(t, s), "a question does not load c")
	requireAnswer(t, s, "c")
	require.True(t, hasBatch("c", "2")())
	write(`{"models":{"a":{"pin":true},"b":{"versions":[1]},"c":{}}}`)
	require.Eventually(t, hasBatch("b", "8"), time.Minute, 20*time.Millisecond)
	require.Eventually(t, hasBatch("c", "8"), time.Minute, 20*time.Millisecond)

	// What is exported is in force.
	_, text = get(t, c, base+"/v2/repository/state")
	d, _, err := fleetstate.Parse([]byte(text))
	require.NoError(t, err, text)
	require.Equal(t, []string{"a", "b", "c"}, d.Names())
	require.True(t, *d.Models["a"].Pin)
	require.Nil(t, d.Models["b"].Pin)
	require.Equal(t, []int64{1}, d.Models["b"].Versions.Specific)
	code, text = put(t, c, base+"/v2/repository/state?dry_run", text)
	require.Equal(t, http.StatusOK, code)
	require.JSONEq(t, `{"actions":[]}`, text)

	// A model that the document no longer has is unloaded and unknown; without pruning all are known.
	write(`{"models":{"c":{"pin":true}}}`)
	waitServing(t, s, "c")
	waitKnown(t, s, "a", http.StatusNotFound)
	write(`{"models":{"c":{}},"prune":false}`)
	waitKnown(t, s, "a", http.StatusOK)
	write(`{"models":{"none":{"pin":true}}}`)
	waitReason(t, s, "load model 'none' failed")
	ready, reasons, _ = condition(t, s)
	require.False(t, ready)
	require.Contains(t, reasons, "model 'none' of the state is not ready")
}

// TestStateEvicts: a model of the document is unloaded to make room and loaded again with the
// configuration that the document has for it; a pinned one stays until the document no longer pins it.
func TestStateEvicts(t *testing.T) {
	t.Parallel()
	config := `{"backend":"identity","max_batch_size":3,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
	file := stateFile(t, `{"models":{"a":{"pin":true},"b":{"config":`+config+`}}}`)
	s := servertest.Start(t, demandState(file, func(o *server.Options) { o.Models.OnDemand.KeepAlive = 0 })...)
	for range 2 {
		requireAnswer(t, s, "b")
		require.Eventually(t, func() bool { return serving(t, s) == "a" }, time.Minute, 20*time.Millisecond)
	}
	_, text := get(t, newClient(t), "http://"+s.HTTP+"/v2/models/b/config")
	require.Contains(t, text, `"max_batch_size":3`)
	_, reasons, state := condition(t, s)
	require.Empty(t, reasons)
	require.Empty(t, state.Failures)
	require.NoError(t, os.WriteFile(file, []byte(`{"models":{"a":{"pin":false},"b":{}}}`), 0o600))
	waitServing(t, s, "")
	requireAnswer(t, s, "a")
}

// TestStateOnDemandIsWritten: a load by a client makes a model known for good, an unload ends that.
func TestStateOnDemandIsWritten(t *testing.T) {
	t.Parallel()
	file := stateFile(t, `{"models":{"a":{}}}`)
	s := servertest.Start(t, demandState(file, func(o *server.Options) { o.State.Write = true })...)
	require.Empty(t, serving(t, s))
	c := newClient(t)
	for _, step := range []struct {
		call, file string
		code       int // of a request for b
	}{
		{"load", `{"models":{"a":{},"b":{}},"generation":1}`, http.StatusOK},
		{"unload", `{"models":{"a":{}},"generation":2}`, http.StatusNotFound},
	} {
		code, text, err := post(c, "http://"+s.HTTP+"/v2/repository/models/b/"+step.call, "{}")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, text)
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.JSONEq(t, step.file, string(got))
		waitKnown(t, s, "b", step.code)
	}
}
