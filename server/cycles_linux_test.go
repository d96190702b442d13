package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/server"
	"triton/server/backend/onnx"
	"triton/server/repository"
	"triton/server/servertest"
)

// cycles is how many times the models of TestMemoryComesBack are loaded and unloaded.
func cycles(t *testing.T) int {
	text := os.Getenv("TRITON_LOAD_CYCLES") //nolint:forbidigo // the lane says how long the test may take
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// Memory comes back: after many loads, inferences and unloads the process has as much as after 20. It
// gives memory back as triton serve does after unloads. TRITON_LOAD_CYCLES=500 is the long lane. The
// test is not parallel: it measures the process.
func TestMemoryComesBack(t *testing.T) {
	if invariant.Enabled {
		t.Skip("not with the race detector, under which pools drop what they are given")
	}
	needsONNX(t)
	n := cycles(t)
	for _, c := range []struct {
		name   string
		cycles int
		setUp  func(t *testing.T) (root, name, body string)
	}{
		{"onnx", n, func(t *testing.T) (string, string, string) {
			root := t.TempDir()
			acc := stateful{
				name: "acc", op: "Add", batch: 4, dims: "1", strategy: "direct { }",
				initial: `initial_state { name: "i" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true }`,
			}
			acc.write(t, root)
			return root, "acc", accumulate(1, "SE", 1)
		}},
		{"python", max(n-35, 21), func(t *testing.T) (string, string, string) {
			root := t.TempDir()
			writePython(t, root, "py", "instance_group { count: 1 kind: KIND_CPU }", doubling)
			return root, "py", `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[4]}]}`
		}},
		{"resnet50", max(n/5, 21), func(t *testing.T) (string, string, string) {
			if n < 500 {
				t.Skip("a load takes a third of a second: set TRITON_LOAD_CYCLES=500")
			}
			root, err := filepath.Abs("../models")
			require.NoError(t, err)
			if _, err := os.Stat(filepath.Join(root, "resnet50")); err != nil {
				t.Skip("needs the example models: run make models")
			}
			zeros := strings.TrimSuffix(strings.Repeat("0,", 3*224*224), ",")
			return root, "resnet50", `{"inputs":[{"name":"input","datatype":"FP32","shape":[1,3,224,224],"data":[` + zeros + `]}]}`
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, name, body := c.setUp(t)
			python := map[string]map[string]string{}
			if c.name == "python" {
				python = pythonSettings(needsPython(t))
			}
			s := servertest.Start(t, servertest.Repository(root), servertest.With(func(o *server.Options) {
				o.Models.Control, o.BackendSettings = repository.ControlExplicit, python
			}))
			client := newClient(t)
			call := func(path, body string) {
				code, text, err := post(client, "http://"+s.HTTP+"/v2/"+path, body)
				require.NoError(t, err)
				require.Equal(t, 200, code, text)
			}
			var early int64
			for i := 1; i <= c.cycles; i++ {
				call("repository/models/"+name+"/load", "{}")
				call("models/"+name+"/infer", body)
				call("repository/models/"+name+"/unload", "{}")
				if i != 20 && i != c.cycles {
					continue
				}
				requireUnloaded(t, s, name)
				for range 2 { // the first frees what finalizers hold
					reclaim(s)
				}
				bytes := residentBytes(t)
				t.Logf("%d cycles: %d KiB", i, bytes>>10)
				if i == 20 {
					early = bytes
				}
				if i == c.cycles {
					require.LessOrEqual(t, float64(bytes), 1.05*float64(early), "resident bytes after %d cycles", i)
				}
			}
		})
	}
}

// requireUnloaded waits until a model is closed.
func requireUnloaded(t *testing.T, s *servertest.Server, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		index := s.Service().Index(false)
		for _, m := range index.GetModels() {
			if m.GetName() == name && m.GetState() != "UNAVAILABLE" {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}

// residentBytes returns the resident memory of this process.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size, resident int64
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}

// reclaim gives memory back, as triton serve does a while after unloads.
func reclaim(s *servertest.Server) {
	s.Pool().Trim()
	debug.FreeOSMemory()
	onnx.Trim()
}
