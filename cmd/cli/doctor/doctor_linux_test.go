package doctor

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/pkg/gpu"
	"triton/server/fake"
)

// run runs the command with ports that are free, unless args name others.
func run(t *testing.T, environ []string, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := process.Process{Args: []string{"triton", "doctor"}, Environ: environ, Stdout: &stdout, Stderr: &stderr, Version: "1.2.3"}
	cmd := NewCommand(p)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--http-address", "127.0.0.1", "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"}, args...))
	cmd.SetContext(t.Context())
	err = cmd.Execute()
	return stdout.String(), err
}

func findings(t *testing.T, environ []string, args ...string) (all []Finding, err error) {
	t.Helper()
	out, err := run(t, environ, append(args, "--output", "json")...)
	var result struct{ Findings []Finding }
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	return result.Findings, err
}

func of(all []Finding, check string) (found []Finding) {
	for _, f := range all {
		if f.Check == check {
			found = append(found, f)
		}
	}
	return found
}

func TestText(t *testing.T) {
	out, err := run(t, nil)
	require.Contains(t, out, "triton 1.2.3")
	require.Contains(t, out, " warning")
	if err != nil { // a machine with a fault
		require.NotContains(t, out, "0 failures")
	}
}

func TestPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // loopback
	require.NoError(t, err)
	defer l.Close()
	taken := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	all, err := findings(t, nil, "--grpc-port", taken)
	require.Error(t, err)
	found := of(all, "port")
	require.Len(t, found, 1)
	require.Equal(t, Failure, found[0].State)
	require.Contains(t, found[0].Advice, "choose another port with --grpc-port")

	s := fake.New(t, nil)
	_, port, err := net.SplitHostPort(s.HTTP())
	require.NoError(t, err)
	all, _ = findings(t, nil, "--http-port", port, "--grpc-port", taken)
	require.Contains(t, of(all, "server")[0].Found, "answers on port "+port)
	for _, f := range of(all, "port") {
		require.Equal(t, Note, f.State, "it belongs to the server that runs")
	}
}

func TestPython(t *testing.T) {
	folder := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
		return path
	}
	for name, c := range map[string]struct {
		path   string
		state  State
		advice string
	}{
		"none":     {filepath.Join(folder, "none"), Warning, "install Python 3.9 or newer"},
		"fails":    {script("fails", "exit 3"), Failure, "exit status 3"},
		"no JSON":  {script("text", "echo hello"), Failure, "invalid character"},
		"old":      {script("old", `echo '{"version": "3.8.1", "minor": [3, 8], "numpy": "1.2"}'`), Failure, "need Python 3.9"},
		"no numpy": {script("bare", `echo '{"version": "3.12.1", "minor": [3, 12], "numpy": "", "error": "ImportError: x"}'`), Warning, "-m pip install numpy\" (ImportError: x)"},
		"good":     {script("good", `echo '{"version": "3.12.1", "minor": [3, 12], "numpy": "2.1"}'`), OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := findings(t, nil, "--python-executable", c.path)
			found := of(all, "Python models")
			require.Len(t, found, 1)
			require.Equal(t, c.state, found[0].State)
			require.Contains(t, found[0].Advice, c.advice)
		})
	}
}

func TestFolders(t *testing.T) {
	empty, models, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(models, "m", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(models, "m", "config.pbtxt"), []byte(`backend: "identity"`), 0o600))
	all, err := findings(t, []string{"TMPDIR=" + file}, "--model-repository", models, "--model-repository", empty,
		"--model-repository", empty+"/none", "--model-repository", "https://user:secret@host/models.tar", "--store-cache-directory", empty, "--backend-directory", empty)
	require.Error(t, err)
	var states []State
	for _, f := range of(all, "repository") {
		states = append(states, f.State)
	}
	require.Equal(t, []State{OK, Warning, Failure, Note}, states)
	require.NotContains(t, of(all, "repository")[3].Found, "secret")
	require.Equal(t, OK, of(all, "backends")[0].State)
	require.NotEqual(t, Failure, of(all, "store cache")[0].State)
	require.Equal(t, Failure, of(all, "temporary files")[0].State)
	left, err := os.ReadDir(empty)
	require.NoError(t, err)
	require.Empty(t, left, "nothing stays behind")
}

func TestEnvironment(t *testing.T) {
	all, _ := findings(t, []string{
		"CUDA_VISIBLE_DEVICES=", "LD_PRELOAD=libx.so", "HTTPS_PROXY=http://proxy", "TRITON_CPU_ONLY=1",
		"TRITON_SERVICE_PORT=tcp://10.0.0.1:8000", "TRITON_SERVICE_PORT_8000_TCP=tcp://10.0.0.1:8000",
	})
	found := of(all, "environment")
	require.Len(t, found, 4)
	require.Equal(t, "it hides all GPUs", found[0].Advice)
	require.Contains(t, found[3].Found, "2 variables of a Kubernetes Service")
	all, _ = findings(t, []string{"TRITON_SERVER_CPU_ONLY=1"})
	require.Contains(t, of(all, "GPUs")[0].Found, "TRITON_SERVER_CPU_ONLY")
}

// TestGPUWork: on a machine with a GPU its work is right; on others it is said that there is none, but only
// to who asked for it.
func TestGPUWork(t *testing.T) {
	all, _ := findings(t, nil)
	require.Empty(t, of(all, "work on GPUs"))
	all, err := findings(t, nil, "--gpu")
	if found := of(all, "work on GPUs"); found != nil {
		require.Error(t, err)
		require.Equal(t, Failure, found[0].State)
		require.NotEmpty(t, found[0].Advice)
		return
	}
	require.Equal(t, OK, of(all, "memory of GPU 0")[0].State)
}

func TestGPUs(t *testing.T) {
	one := gpu.Inventory{Driver: "550.1", CUDA: "12.4", GPUs: make([]gpu.GPU, 2)}
	require.Equal(t, []Finding{{Check: "GPUs", State: OK, Found: "2 GPUs, driver 550.1, CUDA up to 12.4"}}, inventory(one, 2))
	require.Contains(t, inventory(one, 0)[0].Advice, "CUDA_VISIBLE_DEVICES")
	require.Contains(t, inventory(gpu.Inventory{Driver: "550.1"}, 0)[0].Advice, "--gpus all")
	lost := inventory(gpu.Inventory{Unreadable: []string{"GPU 1: GPU is lost"}}, 0)
	require.Equal(t, Failure, lost[1].State)
}

func TestProcesses(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	_, known := processes(root)
	require.False(t, known)
	write("proc/self/cgroup", "0::/pod\n")
	for text, state := range map[string]State{"max\n": OK, "100\n": Warning, "8000\n": OK} {
		write("sys/fs/cgroup/pod/pids.max", text)
		f, known := processes(root)
		require.True(t, known)
		require.Equal(t, state, f.State)
	}
}

func TestCommandLine(t *testing.T) {
	_, err := run(t, nil, "word")
	require.ErrorContains(t, err, `doctor takes no arguments, "word" was given`)
	_, err = run(t, nil, "--output", "yaml")
	require.ErrorContains(t, err, "unknown form")
	_, err = run(t, nil, "-o", "/no/such/x.json")
	require.Error(t, err)
	file := filepath.Join(t.TempDir(), "x.json")
	out, _ := run(t, nil, "-o", file)
	require.NotEmpty(t, out)
	require.FileExists(t, file)
}
