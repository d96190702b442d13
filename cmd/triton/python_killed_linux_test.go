package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// forking has a process that waits for nothing of the process of its instance, which exits in the end.
const forking = `class TritonPythonModel:
    def initialize(self, args):
        import signal
        if os.fork() == 0:
            if os.fork() == 0:
                open(os.path.join(%[1]q, 'forked.' + str(os.getpid())), 'w').close()
                while True:
                    signal.pause()
            os._exit(0)
        os.wait()
    def execute(self, r): pass
`

// TestKilledServer kills a server with Python processes that are ready, initializing and
// importing, and others that those have forked off: none is left, and the next server removes the files of this one.
func TestKilledServer(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	python := root(t, ".venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("needs Python with numpy: run `make .venv/.stamp`")
	}
	dir, tmp, pids := t.TempDir(), t.TempDir(), t.TempDir()
	const wait = "while True: pass\n"
	for name, source := range map[string]string{
		"ready":        "class TritonPythonModel:\n    def execute(self, r): pass\n",
		"forking":      forking,
		"initializing": "class TritonPythonModel:\n    def initialize(self, args):\n        " + wait,
		"importing":    wait,
	} {
		source = strings.ReplaceAll(source, "%[1]q", strconv.Quote(pids))
		source = fmt.Sprintf("import os\nopen(os.path.join(%q, %q + str(os.getpid())), 'w').close()\n", pids, name+".") + source
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "1", "model.py"), []byte(source), 0o644))
		config := "backend: \"python\" instance_group { kind: KIND_CPU count: 2 }\n" +
			"input { name: \"IN\" data_type: TYPE_FP32 dims: [ 1 ] } output { name: \"OUT\" data_type: TYPE_FP32 dims: [ 1 ] }\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644))
	}
	args := []string{
		"serve", "--model-repository", dir, "--model-control-mode=explicit",
		"--backend-config=python,python-executable=" + python, "--backend-config=python,start-timeout-seconds=600",
	}
	run := func() *server {
		cmd := exec.Command(tritonBinary(t), args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		return start(t, cmd)
	}
	s := run()
	for _, name := range []string{"ready", "forking", "initializing", "importing"} {
		load := func() {
			resp, err := http.Post("http://"+s.http+"/v2/repository/models/"+name+"/load", "application/json", nil)
			if err == nil {
				resp.Body.Close()
			}
		}
		if name == "ready" || name == "forking" {
			load()
		} else {
			go load() // ends with the server
		}
	}
	begun := func() (all []int) {
		files, err := os.ReadDir(pids)
		require.NoError(t, err)
		for _, f := range files {
			_, pid, _ := strings.Cut(f.Name(), ".")
			n, err := strconv.Atoi(pid)
			require.NoError(t, err)
			all = append(all, n)
		}
		return all
	}
	// The instances of all but importing, and for each model the process that completes its configuration;
	// of forking also two that were forked off.
	require.Eventually(t, func() bool { return len(begun()) == 12 }, 3*time.Minute, 10*time.Millisecond)
	require.NoError(t, s.cmd.Process.Kill())
	<-s.done
	for _, pid := range begun() {
		require.Eventually(t, func() bool { return ended(pid) }, time.Minute, time.Millisecond)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Contains(t, left[0], "triton_python_modules_")

	s = run()
	resp, err := http.Post("http://"+s.http+"/v2/repository/models/ready/load", "application/json", nil)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoDirExists(t, left[0])
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	<-s.done
	left, err = filepath.Glob(filepath.Join(tmp, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
