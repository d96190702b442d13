package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childrenOf returns the processes that a process has started.
func childrenOf(t *testing.T, pid int) (all []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // the thread may have ended
		for _, field := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(field)
			require.NoError(t, err)
			all = append(all, n)
		}
	}
	return all
}

// onlyChildOf waits until a process has one child. The lists are read thread by thread: a child is in none or
// in two of them when its thread ends meanwhile.
func onlyChildOf(t *testing.T, pid int) (child int) {
	t.Helper()
	require.Eventually(t, func() bool {
		all := childrenOf(t, pid)
		if len(all) == 1 {
			child = all[0]
		}
		return len(all) == 1
	}, time.Minute, 5*time.Millisecond)
	return child
}

// ended reports whether a process is gone, or only its parent has not been told yet.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body)) //nolint:noctx // loopback
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode, url)
	return resp.Status
}

// mappedLibrary reports whether a process has a library open.
func mappedLibrary(t *testing.T, pid int, name string) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	return strings.Contains(string(text), name)
}

const simpleRequest = `{"inputs":[
{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]},
{"name":"INPUT1","datatype":"INT32","shape":[1,16],"data":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}`

// The memory of an isolated model returns with its process: the server itself never opens the
// library. No process outlives a server that is killed.
func TestIsolatedProcesses(t *testing.T) {
	lib := needORT(t)
	t.Setenv(cpuOnly, "1")
	s := serve(t, exampleModels(t, "simple"), "--onnxruntime-library", lib, "--isolation=process", "--model-control-mode=explicit")
	models := "http://" + s.http + "/v2/repository/models/simple/"
	server := s.cmd.Process.Pid
	for range 2 {
		post(t, models+"load", "")
		child := onlyChildOf(t, server)
		require.True(t, mappedLibrary(t, child, "libonnxruntime"))
		post(t, "http://"+s.http+"/v2/models/simple/infer", simpleRequest)
		post(t, models+"unload", "")
		require.Eventually(t, func() bool { return len(childrenOf(t, server)) == 0 }, time.Minute, 5*time.Millisecond)
		require.False(t, mappedLibrary(t, server, "libonnxruntime"))
	}
	post(t, models+"load", "")
	child := onlyChildOf(t, server)
	require.NoError(t, s.cmd.Process.Kill())
	<-s.done
	require.Eventually(t, func() bool { return ended(child) }, time.Minute, 5*time.Millisecond)
}

// A program of isolated models that nobody has started for a server says so, and no help
// mentions it.
func TestIsolatedModelByHand(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), tritonBinary(t), "isolated-model").CombinedOutput()
	require.Error(t, err)
	require.Equal(t, "error: running an isolated model: this program was not started by a server\n", string(out))
	out, err = exec.CommandContext(t.Context(), tritonBinary(t), "isolated-model", "", "", "{}").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "was not started by a server")
	out, err = exec.CommandContext(t.Context(), tritonBinary(t), "--help").CombinedOutput()
	require.NoError(t, err)
	require.NotContains(t, string(out), "isolated")
}
