package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHangup rotates the log file and the audit log of a real server as logrotate does: it renames
// them and sends SIGHUP. The server goes on, in new files.
func TestHangup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	dir := t.TempDir()
	logs, records := filepath.Join(dir, "log"), filepath.Join(dir, "audit")
	s := serve(t, identityModels(t, "a"), "--log-file", logs, "--audit-log", records)
	ask := func(id string) {
		resp, err := http.Post("http://"+s.http+"/v2/models/a/infer", "application/json",
			strings.NewReader(`{"id":"`+id+`","inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[1,2]}]}`))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	has := func(file, text string) func() bool {
		return func() bool {
			b, _ := os.ReadFile(file)
			return strings.Contains(string(b), text)
		}
	}
	ask("before")
	require.Eventually(t, has(records, `"id":"before"`), time.Minute, 5*time.Millisecond)
	require.NoError(t, os.Rename(logs, logs+".1"))
	require.NoError(t, os.Rename(records, records+".1"))
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, func() bool { _, err := os.Stat(records); return err == nil }, time.Minute, 5*time.Millisecond, "opened without a call")
	require.Eventually(t, has(logs, "log files are opened again"), time.Minute, 5*time.Millisecond)
	ask("after")
	s.stop(t)
	require.True(t, has(records, `"id":"after"`)())
	require.False(t, has(records, `"id":"before"`)())
	require.False(t, has(records+".1", `"id":"after"`)())
	require.False(t, has(logs+".1", "log files are opened again")())
}

// TestHangupWithoutFiles: a server that writes no log files ends with the terminal that started it.
func TestHangupWithoutFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored here, as under nohup, and so it is in child processes")
	}
	cmd := exec.Command(tritonBinary(t), "serve", "--model-repository", identityModels(t, "a"))
	s := start(t, cmd)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
	status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.Equal(t, syscall.SIGHUP, status.Signal())
}
