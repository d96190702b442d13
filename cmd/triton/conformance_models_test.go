package main_test

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli"
	"triton/cmd/cli/process"
	"triton/pkg/sharedtest"
	"triton/server/servertest"
	"triton/server/servertest/conformance"
)

// builtIn are models of our own backends; NVIDIA's server gets Python models of
// the same behavior.
var builtIn = map[string]string{
	"repeat_int32": `backend: "repeat"
max_batch_size: 0
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
model_transaction_policy { decoupled: true }
instance_group [ { kind: KIND_CPU } ]
`,
	"twice": twice, "identity_each": identityEach, "each": each, "identity_row": identityRow, "running_sum": runningSum, "total": total,
}

// standInsOf are the Python models that differ from standIn.
var standInsOf = map[string]string{"repeat_int32": standInRepeat, "running_sum": standInSum}

// conformanceModels returns the repository that a file requires with "models: ...", for
// NVIDIA's server or ours. Names that are not defined here are example models.
func conformanceModels(t *testing.T, s *conformance.Suite, nvidia bool) string {
	t.Helper()
	if s.Needs["repository"] != "" {
		return pythonModels(t, s)
	}
	var examples []string
	ours := map[string]string{}
	for _, name := range strings.Fields(s.Needs["models"]) {
		if config, ok := builtIn[name]; ok {
			ours[name] = config
		} else {
			examples = append(examples, name)
		}
	}
	dir := t.TempDir()
	if len(examples) > 0 {
		dir = exampleModels(t, examples...)
	}
	for name, config := range ours {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644))
	}
	if nvidia {
		standIns(t, dir)
	}
	return dir
}

// standIns puts Python models in place of all others but ensembles.
func standIns(t *testing.T, dir string) {
	t.Helper()
	named := regexp.MustCompile(`(backend|platform):\s*"[^"]*"`)
	models, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, m := range models {
		file := filepath.Join(dir, m.Name(), "config.pbtxt")
		config, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(config), `platform: "ensemble"`) {
			continue
		}
		require.NoError(t, os.WriteFile(file, named.ReplaceAll(config, []byte(`backend: "python"`)), 0o644))
		version := filepath.Join(dir, m.Name(), "1")
		require.NoError(t, os.RemoveAll(version))
		require.NoError(t, os.MkdirAll(version, 0o755))
		code := cmp.Or(standInsOf[m.Name()], standIn)
		require.NoError(t, os.WriteFile(filepath.Join(version, "model.py"), []byte(code), 0o644))
	}
}

const standInRepeat = `import time
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            get = lambda n: pb_utils.get_input_tensor_by_name(r, n).as_numpy()
            sender = r.get_response_sender()
            for i, (value, delay) in enumerate(zip(get("IN"), get("DELAY"))):
                time.sleep(int(delay) / 1000)
                sender.send(pb_utils.InferenceResponse([
                    pb_utils.Tensor("OUT", np.array([value], np.int32)), pb_utils.Tensor("IDX", np.array([i], np.uint32))]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
`

// serveInProcess runs the command line in this process.
func serveInProcess(t *testing.T, models string, args ...string) *server {
	t.Helper()
	p := sharedtest.Ports(t, 3)
	at := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p[i])) }
	s := &server{http: at(0), grpc: at(1), metrics: at(2), log: &sharedtest.LogBuffer{}, done: make(chan struct{})}
	all := append([]string{"triton", "serve", "--model-repository", models, "--http-address=127.0.0.1", "--grpc-address=127.0.0.1"}, args...)
	for i, name := range []string{"http", "grpc", "metrics"} {
		all = append(all, "--"+name+"-port="+strconv.Itoa(p[i]))
	}
	signals := make(chan os.Signal, 1)
	go func() {
		defer close(s.done)
		if code := cli.Main(process.Process{
			Args: all, Environ: []string{cpuOnly + "=1", "TRITON_SERVE_GRPC_TRANSPORT=" + servertest.GRPCTransport().String()}, Stdout: s.log, Stderr: s.log, Version: "devel",
			Signals: func() (<-chan os.Signal, func()) { return signals, func() {} },
		}); code != 0 {
			s.err = fmt.Errorf("exit code %d", code)
		}
	}()
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		<-s.done
		assert.NoError(t, s.err)
		if t.Failed() {
			t.Log(s.lastLog())
		}
	})
	s.waitReady(t)
	return s
}
