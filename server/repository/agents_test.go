//go:build cgo && linux

package repository

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
	"triton/server/repository/agents"
)

// agentCalls is a repository whose models have the agent of the tests of package agents.
type agentCalls struct {
	*testing.T
	dir, calls, temp string
	repo             *Repository
	log              *lines
}

var agentLibrary struct {
	sync.Mutex
	code []byte
}

// compiledAgent returns the library of the agent, which is compiled once.
func compiledAgent(t *testing.T) []byte {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler to build a repository agent with")
	}
	agentLibrary.Lock()
	defer agentLibrary.Unlock()
	if agentLibrary.code == nil {
		path := filepath.Join(t.TempDir(), "agent.so")
		out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-I../capi/include", "-o", path, "agents/testdata/agent.c").CombinedOutput()
		require.NoError(t, err, string(out))
		agentLibrary.code, err = os.ReadFile(path)
		require.NoError(t, err)
	}
	return agentLibrary.code
}

// withAgents makes a repository and a folder of agents with the agents a and b.
func withAgents(t *testing.T, files map[string]string) *agentCalls {
	t.Helper()
	code := compiledAgent(t)
	libraries := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(libraries, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(libraries, name, "libtritonrepoagent_"+name+".so"), code, 0o600))
	}
	var err error
	a := &agentCalls{T: t, calls: filepath.Join(t.TempDir(), "calls"), temp: t.TempDir()}
	t.Setenv("TMPDIR", a.temp)
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "$LOG", a.calls)
	}
	a.dir = tree(t, files)
	a.repo, a.log, err = open(t, func(o *Options) {
		o.Control, o.Agents = ControlExplicit, agents.New(agents.Options{Directory: libraries, Log: o.Log})
	}, a.dir)
	require.NoError(t, err)
	return a
}

// withAgent is an agent of a configuration; $LOG is the file that it writes.
func withAgent(name, mode string) string {
	return fmt.Sprintf(`agents { name: %q parameters { key: "log" value: "$LOG" } parameters { key: "mode" value: %q } parameters { key: "name" value: %q } } `, name, mode, name)
}

// said waits for what the agents write since the last call, and compares it.
func (a *agentCalls) said(want ...string) {
	a.Helper()
	var got []string
	require.Eventually(a, func() bool { // versions are closed in the background
		text, _ := os.ReadFile(a.calls)
		got = strings.Split(strings.TrimSpace(string(text)), "\n")
		return len(got) >= len(want)
	}, time.Minute, time.Millisecond)
	require.Equal(a, want, got)
	require.NoError(a, os.Remove(a.calls))
}

func (a *agentCalls) load(name string) error {
	return a.repo.Load(a.Context(), name, infer.LoadOptions{})
}

func (a *agentCalls) moved() []string {
	all, err := filepath.Glob(filepath.Join(a.temp, "triton-agent-*"))
	require.NoError(a, err)
	return all
}

// TestAgentsOfAModel: the agents follow the loads and unloads of a model with two versions, which is
// loaded from the directory that one of them has made.
func TestAgentsOfAModel(t *testing.T) {
	config := identity + `version_policy { all { } } model_repository_agents { ` + withAgent("a", "move") + withAgent("b", "") + `}`
	r := withAgents(t, map[string]string{"m/config.pbtxt": config, "m/1/": "", "m/2/": ""})
	require.NoError(t, r.load("m"))
	first := []string{"a begins", "a LOAD", "b begins", "b LOAD", "b LOAD_COMPLETE", "a LOAD_COMPLETE"}
	r.said(first...)
	moved := r.moved()
	require.Len(t, moved, 1)
	m, err := r.repo.Model("m", "2")
	require.NoError(t, err)
	resp, err := inferOnce(t, m)
	require.NoError(t, err)
	resp.Release()

	require.NoError(t, r.load("m")) // not changed
	require.Empty(t, r.moved()[1:])
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "m/3"), 0o755))
	require.NoError(t, r.load("m"))
	m.Release()
	r.said("a begins", "a LOAD", "b begins", "b LOAD", "a UNLOAD", "b UNLOAD", "b LOAD_COMPLETE", "a LOAD_COMPLETE",
		"b UNLOAD_COMPLETE", "a UNLOAD_COMPLETE", "a release: ok", "a ends", "b ends")
	require.Len(t, r.moved(), 1)
	require.NotEqual(t, moved, r.moved())

	require.NoError(t, r.repo.Unload(t.Context(), "m", false))
	r.said("a UNLOAD", "b UNLOAD", "b UNLOAD_COMPLETE", "a UNLOAD_COMPLETE", "a release: ok", "a ends", "b ends")
	require.Eventually(t, func() bool { return len(r.moved()) == 0 }, time.Minute, time.Millisecond)

	require.NoError(t, r.load("m"))
	r.said(first...)
	require.NoError(t, r.repo.Drain(t.Context()))
	r.said("a UNLOAD", "b UNLOAD", "b UNLOAD_COMPLETE", "a UNLOAD_COMPLETE", "a release: ok", "a ends", "b ends")
	require.Empty(t, r.moved())
}

// TestAgentsOfAFailure: the agents are told of a load that fails, whoever is to blame.
func TestAgentsOfAFailure(t *testing.T) {
	all := func(second string) string {
		return ` model_repository_agents { ` + withAgent("a", "move") + withAgent("b", second) + `}`
	}
	r := withAgents(t, map[string]string{
		"refused/config.pbtxt": identity + all("refuse"), "refused/1/": "",
		"backend/config.pbtxt": `backend: "none"` + all(""), "backend/1/": "",
		"config/config.pbtxt": identity + `max_batch_size: -1` + all(""), "config/1/": "",
		"version/config.pbtxt": identity + `version_policy { specific { versions: 7 } }` + all(""), "version/1/": "",
	})
	require.EqualError(t, r.load("refused"), "failed to load 'refused', failed to poll from model repository: it does not load")
	require.Contains(t, r.log.messages(), "Poll failed for model directory 'refused': it does not load")
	r.said("a begins", "a LOAD", "b begins", "b LOAD", "b LOAD_FAIL", "b ends", "a LOAD_FAIL", "a release: ok", "a ends")
	require.Error(t, r.load("backend"))
	r.said("a begins", "a LOAD", "b begins", "b LOAD", "b LOAD_FAIL", "a LOAD_FAIL", "a release: ok", "a ends", "b ends")
	for _, name := range []string{"config", "version"} {
		require.Error(t, r.load(name))
		r.said("a begins", "a LOAD", "b begins", "b LOAD", "a LOAD_FAIL", "a release: ok", "a ends", "b LOAD_FAIL", "b ends")
	}
	require.Empty(t, r.moved())
}

// TestAgentsOfAnEnsemble: the agents of an ensemble stay when a model of its steps is loaded again.
func TestAgentsOfAnEnsemble(t *testing.T) {
	const over = `platform: "ensemble" input { name: "IN" data_type: TYPE_INT32 dims: [ 4 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ 4 ] }
ensemble_scheduling { step { model_name: "m" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "OUT" } } } `
	r := withAgents(t, map[string]string{
		"m/config.pbtxt": identity, "m/1/": "",
		"e/config.pbtxt": over + `model_repository_agents { ` + withAgent("a", "") + `}`, "e/1/": "",
	})
	require.NoError(t, r.load("e"))
	r.said("a begins", "a LOAD", "a LOAD_COMPLETE")
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "m/1/file"), nil, 0o600))
	require.NoError(t, r.load("m"))
	require.Eventually(t, func() bool { return len(r.repo.openVersions()) == 2 }, time.Minute, time.Millisecond)
	require.NoFileExists(t, r.calls)
	require.NoError(t, r.repo.Unload(t.Context(), "e", false))
	r.said("a UNLOAD", "a UNLOAD_COMPLETE", "a ends")
}

// TestAgentsOfUploadedFiles: the agents work on the files that came with a load.
func TestAgentsOfUploadedFiles(t *testing.T) {
	r := withAgents(t, map[string]string{})
	config := strings.ReplaceAll(`{"backend":"identity","max_batch_size":0,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],
"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}],
"model_repository_agents":{"agents":[{"name":"a","parameters":{"log":"$LOG","mode":"config","name":"a"}}]}}`, "$LOG", r.calls)
	require.NoError(t, r.repo.Load(t.Context(), "m", infer.LoadOptions{Config: &config, Files: map[string][]byte{"file:1/x": nil}}))
	r.said("a begins", "a LOAD", "a config ", "a LOAD_COMPLETE")
}
