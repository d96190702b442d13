//go:build cgo && linux

package agents_test

import (
	"bytes"
	"context"
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

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/capi/capitest"
	"triton/server/repository/agents"
	"triton/server/repository/agents/library"
)

// TestMain ignores the calls that an agent of the tests never ends.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.Cleanup(func(code int) {
			_ = os.RemoveAll(shared.dir)
			os.Exit(code)
		}),
		goleak.IgnoreAnyFunction("triton/server/repository/agents.(*link).call.func1"),
		goleak.IgnoreAnyFunction("triton/server/repository/agents.(*link).abandon.func1"))
}

var shared struct {
	sync.Mutex
	dir string
}

// folder returns a folder of agents: a, b and checksum are the agent of the tests, and broken has no
// function for actions.
func folder(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.dir != "" {
		return shared.dir
	}
	var err error
	shared.dir, err = os.MkdirTemp("", "triton-test-") //nolint:usetesting // all tests share it
	require.NoError(t, err)
	for name, flag := range map[string]string{"a": "-g", "b": "-g", "checksum": "-g", "broken": "-DTRITONREPOAGENT_ModelAction=Other"} {
		capitest.Compile(t, "../../capi/include", "testdata/agent.c", filepath.Join(shared.dir, name, library.FileName(name)), `-DNAME="`+name+`"`, flag)
	}
	return shared.dir
}

// world is a model with agents.
type world struct {
	t     *testing.T
	dir   string // of the model
	calls string // the file that the agents write
	log   bytes.Buffer
	opts  agents.Options
	temp  string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), temp: t.TempDir()}
	libraries := folder(t)
	t.Setenv("TMPDIR", w.temp)
	w.calls = filepath.Join(t.TempDir(), "calls")
	w.write("1/model.bin", "foo")
	w.opts = agents.Options{Directory: libraries, Log: slog.New(slog.NewTextHandler(&w.log, nil))}
	return w
}

func (w *world) write(name, text string) {
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
}

// agent is an agent of a configuration with a mode.
func (w *world) agent(name, mode string) string {
	return fmt.Sprintf(`agents { name: %q parameters { key: "log" value: %q } parameters { key: "mode" value: %q } } `, name, w.calls, mode)
}

// model returns the model with agents.
func (w *world) model(all ...string) agents.Model {
	text := "max_batch_size: 3 model_repository_agents { " + strings.Join(all, "") + "}"
	w.write("config.pbtxt", text)
	c, err := modelconfig.Parse("config.pbtxt", []byte(text))
	require.NoError(w.t, err)
	return agents.Model{
		Config: c, Location: library.Location{Path: w.dir}, Files: os.DirFS(w.dir),
		Reread: func(dir string) *modelconfig.Config {
			c, err := modelconfig.ReadFile(filepath.Join(dir, "config.pbtxt"))
			if err != nil {
				return nil
			}
			return c
		},
	}
}

func (w *world) load(all ...string) (*agents.Chain, error) {
	return agents.New(w.opts).Load(w.t.Context(), w.model(all...))
}

// said returns what the agents wrote since the last call.
func (w *world) said() []string {
	text, _ := os.ReadFile(w.calls)
	_ = os.Remove(w.calls)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// left returns the directories for agents that were not removed.
func (w *world) left() []string {
	all, err := filepath.Glob(filepath.Join(w.temp, "triton-agent-*"))
	require.NoError(w.t, err)
	return all
}

func TestLife(t *testing.T) {
	w := newWorld(t)
	c, err := w.load(w.agent("a", ""), w.agent("b", ""))
	require.NoError(t, err)
	require.Empty(t, c.Dir())
	require.Equal(t, []string{"a begins", "a LOAD", "b begins", "b LOAD"}, w.said())
	c.Add(1)
	c.Add(2)
	c.Done(true)
	require.Equal(t, []string{"b LOAD_COMPLETE", "a LOAD_COMPLETE"}, w.said())
	c.Done(false)
	c.Retire(1)
	c.Retire(1)
	require.Equal(t, []string{""}, w.said(), "version 2 is in service")
	c.Retire(2)
	c.Retire(2)
	require.Equal(t, []string{"a UNLOAD", "b UNLOAD"}, w.said())
	c.Close()
	require.Equal(t, []string{"b UNLOAD_COMPLETE", "a UNLOAD_COMPLETE", "a ends", "b ends"}, w.said())
	c.Close()
	require.Equal(t, []string{""}, w.said())
	require.Empty(t, w.log.String())

	for name, test := range map[string]struct {
		do   func(c *agents.Chain)
		want []string
	}{
		"the load fails":      {func(c *agents.Chain) { c.Done(false) }, []string{"a LOAD_FAIL", "a ends"}},
		"it is never loaded":  {func(*agents.Chain) {}, []string{"a LOAD_FAIL", "a ends"}},
		"it is never retired": {func(c *agents.Chain) { c.Done(true) }, []string{"a LOAD_COMPLETE", "a UNLOAD", "a UNLOAD_COMPLETE", "a ends"}},
	} {
		c, err := w.load(w.agent("a", ""))
		require.NoError(t, err, name)
		w.said()
		test.do(c)
		c.Close()
		require.Equal(t, test.want, w.said(), name)
	}
}

// TestRefused: the first agent that refuses ends a load, and the others are told.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	const foo = "acbd18db4cc2f85cedef654fccc4a4d8"
	own := func(sum string) string {
		return `agents { name: "checksum" parameters { key: "MD5:1/model.bin" value: "` + sum + `" } } `
	}
	for name, test := range map[string]struct {
		agents []string
		want   string
		code   status.Code
		said   []string
	}{
		"LOAD": {
			[]string{w.agent("a", ""), w.agent("b", "refuse"), w.agent("a", "")},
			"it does not load", status.InvalidArg,
			[]string{"a begins", "a LOAD", "b begins", "b LOAD", "b LOAD_FAIL", "b ends", "a LOAD_FAIL", "a ends"},
		},
		"the beginning": {[]string{w.agent("a", "refuse to begin")}, "it does not begin", status.InvalidArg, []string{"a begins", "a ends"}},
		"no library":    {[]string{w.agent("none", "")}, "unable to find 'libtritonrepoagent_none.so' for repo agent 'none', searched: " + w.opts.Directory, status.InvalidArg, []string{""}},
		"a path":        {[]string{w.agent("../a", "")}, "unable to find 'libtritonrepoagent_../a.so' for repo agent '../a', searched: " + w.opts.Directory, status.InvalidArg, []string{""}},
		"no function":   {[]string{w.agent("broken", "")}, "unable to find required entrypoint 'TRITONREPOAGENT_ModelAction' in shared library", status.NotFound, []string{""}},
		"checksum":      {[]string{own(foo), w.agent("a", ""), own("00")}, "Mismatched MD5 hash for file 1/model.bin, expect: 00, got: " + foo, status.InvalidArg, []string{"a begins", "a LOAD", "a LOAD_FAIL", "a ends"}},
		"remote":        {[]string{w.agent("a", "remote")}, "repository agent 'a' moved the model to 's3://bucket/model', which is not a directory of this machine; let the agent copy the files to a directory", status.Unsupported, []string{"a begins", "a LOAD", "a LOAD_FAIL", "a ends"}},
	} {
		c, err := w.load(test.agents...)
		require.Nil(t, c, name)
		require.EqualError(t, err, test.want, name)
		require.Equal(t, test.code, status.CodeOf(err), name)
		require.Equal(t, test.said, w.said(), name)
	}
	require.Empty(t, w.left())
	require.Empty(t, w.log.String())
}

// TestMoved: the agents after one that gives the model another directory see that, also the checksum of
// this program, and the directory lives as long as the model.
func TestMoved(t *testing.T) {
	for _, mode := range []string{"move", "forget"} {
		w := newWorld(t)
		c, err := w.load(w.agent("a", mode), `agents { name: "checksum" parameters { key: "md5:moved.txt" value: "8eb563719298a20c2df97b2ea1a558fa" } } `, w.agent("b", "config"))
		require.NoError(t, err)
		require.Equal(t, w.left(), []string{c.Dir()})
		text, err := os.ReadFile(filepath.Join(c.Dir(), "1/model.bin"))
		require.NoError(t, err)
		require.Equal(t, "foo", string(text))
		require.Contains(t, strings.Join(w.said(), "\n"), `"max_batch_size":3`, "the configuration in the directory")
		c.Done(true)
		c.Close()
		require.Empty(t, w.left())
		require.Empty(t, w.log.String())
	}
}

// TestConfig: the first agent gets the configuration as it was read; for files that came with the load,
// the one among them, if any.
func TestConfig(t *testing.T) {
	w := newWorld(t)
	c, err := w.load(w.agent("a", "config"))
	require.NoError(t, err)
	require.Contains(t, w.said()[2], `"model_repository_agents"`)
	c.Close()
	w.said()
	m := w.model(w.agent("a", "config"))
	m.Uploaded = true
	require.NoError(t, os.Remove(filepath.Join(w.dir, "config.pbtxt")))
	c, err = agents.New(w.opts).Load(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "a config", w.said()[2], "there is none")
	c.Close()
}

// TestChecksum: a library of the name checksum replaces the one of this program only if that is wanted.
func TestChecksum(t *testing.T) {
	w := newWorld(t)
	_, err := w.load(w.agent("checksum", ""))
	require.EqualError(t, err, "failed to parse key: log")
	w.opts.PreferLibrary = true
	c, err := w.load(w.agent("checksum", ""))
	require.NoError(t, err)
	c.Close()
	require.Equal(t, []string{"checksum begins", "checksum LOAD", "checksum LOAD_FAIL", "checksum ends"}, w.said())
}

// TestMisuse: the functions of the API refuse wrong arguments with Triton's texts.
func TestMisuse(t *testing.T) {
	w := newWorld(t)
	c, err := w.load(w.agent("a", "misuse"))
	require.NoError(t, err)
	c.Close()
	require.Equal(t, []string{
		"a begins", "a LOAD",
		"a release: No mutable location to be deleted",
		"a acquire remote: Unexpected artifact type, expects 'TRITONREPOAGENT_ARTIFACT_FILESYSTEM'",
		"a acquire: ok", "a acquire again: ok", "a the same",
		"a update with nothing: model or location was nullptr",
		"a parameter: index out of range for model parameters",
		"a version 2: model configuration version 2 not supported, supported versions are: 1",
		"a nothing: model or model_config was nullptr",
		"a state of nothing: model or state was nullptr",
		"a agent of nothing: agent or state was nullptr",
		"a LOAD_FAIL", "a ends",
	}, w.said())
	require.Empty(t, w.left())

	c, err = w.load(w.agent("a", "update late"))
	require.NoError(t, err)
	c.Done(true)
	require.Contains(t, w.log.String(), "Agent model returns error on TRITONREPOAGENT_ACTION_LOAD_COMPLETE: Invalid argument: "+
		"location can only be updated during TRITONREPOAGENT_ACTION_LOAD, current action type is TRITONREPOAGENT_ACTION_LOAD_COMPLETE")
	c.Close()
}

// TestErrorOfUnload: an error is logged, and the model ends nevertheless.
func TestErrorOfUnload(t *testing.T) {
	w := newWorld(t)
	c, err := w.load(w.agent("a", "fail to unload"), w.agent("b", ""))
	require.NoError(t, err)
	c.Done(true)
	w.said()
	c.Retire(1)
	c.Close()
	require.Equal(t, []string{"a UNLOAD", "b UNLOAD_COMPLETE"}, w.said()[:2])
	require.Contains(t, w.log.String(), "Agent model returns error on TRITONREPOAGENT_ACTION_UNLOAD: Invalid argument: it does not unload")
}

// TestHangs: an agent that does not return fails the load, and is not called again.
func TestHangs(t *testing.T) {
	w := newWorld(t)
	w.opts.LoadTime = time.Second // agent b needs a moment too
	_, err := w.load(w.agent("b", ""), w.agent("a", "hang"))
	require.EqualError(t, err, "repository agent 'a' did not finish TRITONREPOAGENT_ACTION_LOAD within 1s")
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.Equal(t, []string{"b begins", "b LOAD", "a begins", "a LOAD", "b LOAD_FAIL", "b ends"}, w.said())

	// One that returns late ends its model then.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.opts.LoadTime = 0
	says := func(last string) func() bool {
		return func() bool {
			text, _ := os.ReadFile(w.calls)
			return strings.HasSuffix(string(text), last)
		}
	}
	ended := make(chan error, 1)
	m := w.model(w.agent("a", "slow"))
	go func() {
		_, err := agents.New(w.opts).Load(ctx, m)
		ended <- err
	}()
	require.Eventually(t, says("a LOAD\n"), time.Minute, time.Millisecond)
	cancel()
	require.ErrorContains(t, <-ended, "repository agent 'a' did not finish TRITONREPOAGENT_ACTION_LOAD: ")
	require.NoError(t, os.WriteFile(w.calls+".gate", nil, 0o600))
	require.Eventually(t, says("a LOAD_FAIL\na ends\n"), time.Minute, 10*time.Millisecond)
}

// TestManyModels: models of one agent may be loaded at the same time, and nothing grows.
func TestManyModels(t *testing.T) {
	w := newWorld(t)
	all := agents.New(w.opts)
	m := w.model(w.agent("a", ""), w.agent("b", "config"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				c, err := all.Load(t.Context(), m)
				if err != nil {
					t.Error(err)
					return
				}
				c.Add(c)
				c.Done(true)
				c.Retire(c)
				c.Close()
			}
		})
	}
	wg.Wait()
	require.Len(t, w.said(), 8*20*(2*6+1))
	require.Empty(t, w.left())
	require.Empty(t, w.log.String())
}
