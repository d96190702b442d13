package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/hostpolicy"
	"triton/server/hostpolicy/hostpolicytest"
	"triton/server/servertest"
)

// lost answers with what its process is bound to, when it was started and in execute. Zeros kill it.
const lost = `
import os, threading
def bound(of):
    with open(of + "/status") as f: cpus = [l.split()[1] for l in f if l.startswith("Cpus_allowed_list")]
    try:
        with open(of + "/numa_maps") as f: cpus.append(f.readline().split()[1])
    except OSError: pass
    return " ".join(cpus)
class TritonPythonModel:
    def initialize(self, args):
        self.start = bound("/proc/self")
        thread = threading.Thread(target=self.note)
        thread.start(), thread.join()
    def note(self): self.thread = bound("/proc/thread-self")
    def execute(self, requests):
        if not requests[0].inputs()[0].as_numpy().any(): os._exit(3)
        text = ", ".join([self.start, self.thread, bound("/proc/thread-self")])
        return [pb_utils.InferenceResponse(error=pb_utils.TritonError(text)) for r in requests]
`

// TestBoundPython: the process of an instance is bound, also the one that replaces it.
func TestBoundPython(t *testing.T) {
	t.Parallel()
	settings, bound := hostpolicytest.Narrow(t)
	dir := t.TempDir()
	writePython(t, dir, "bound", `instance_group { kind: KIND_CPU host_policy: "narrow" }`, lost)
	writePython(t, dir, "free", `instance_group { kind: KIND_CPU host_policy: "other" }`, lost)
	s := startPython(t, dir, servertest.With(func(o *server.Options) { o.HostPolicies = hostpolicy.Policies{"narrow": settings} }))
	c := newClient(t)
	ask := func(model, number string) (int, string) {
		const body = `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[%]}]}`
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/"+model+"/infer", strings.Replace(body, "%", number, 1))
		require.NoError(t, err)
		return code, text
	}
	three := func(state hostpolicytest.State) string { return string(state + ", " + state + ", " + state) }
	_, text := ask("free", "1")
	require.Contains(t, text, three(hostpolicytest.Of("/proc/self")))
	_, text = ask("bound", "1")
	require.Contains(t, text, three(bound))
	code, _ := ask("bound", "0")
	require.NotEqual(t, http.StatusOK, code)
	require.Eventually(t, func() bool {
		_, text = ask("bound", "1")
		return strings.Contains(text, three(bound))
	}, 2*time.Minute, 10*time.Millisecond, "the process that replaces it")
}

// TestLimitsOfTheModelCount: a model that names the processors of its process has them whatever the
// host policy says.
func TestLimitsOfTheModelCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writePython(t, dir, "m", `instance_group { kind: KIND_CPU } parameters { key: "python_cpus" value { string_value: "0" } }`, lost)
	s := startPython(t, dir, servertest.With(func(o *server.Options) {
		o.HostPolicies = hostpolicy.Policies{}.With("cpu", hostpolicy.Cores, "5000-5000")
	}))
	_, text, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/m/infer", `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[1]}]}`)
	require.NoError(t, err)
	require.Contains(t, text, ", 0")
}

// TestHostPolicyThatCannotBeApplied: the load fails. The texts are tested where they are made.
func TestHostPolicyThatCannotBeApplied(t *testing.T) {
	t.Parallel()
	_, err := servertest.Try(t, servertest.Model("m", servertest.Identity("FP32", "1", 0)),
		servertest.With(func(o *server.Options) { o.HostPolicies = hostpolicy.Policies{}.With("cpu", hostpolicy.Cores, "0") }))
	require.ErrorContains(t, err, "failed to load all models")
}
