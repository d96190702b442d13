package scenario

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triton/pkg/inferencepb"
	"triton/pkg/sharedtest"
)

// startOracle starts a server with the models of scenarios of a file.
func startOracle(t *testing.T, dir string, s *Suite, todo []*Scenario) *nvidia {
	t.Helper()
	repository := t.TempDir()
	for i, c := range todo {
		for _, m := range c.Models {
			require.NoError(t, m.Write(repository, prefix(i), "python", Python))
		}
	}
	o := &nvidia{log: filepath.Join(t.TempDir(), "log"), metrics: sharedtest.Address(t)}
	web, rpc := sharedtest.Address(t), sharedtest.Address(t)
	port := func(addr string) string { _, p, _ := net.SplitHostPort(addr); return p }
	cmd := exec.Command(filepath.Join(dir, "bin", "tritonserver"), append(strings.Fields(s.Needs["flags"]),
		"--model-repository", repository, "--allow-gpu-metrics=false", "--exit-on-error=false", "--strict-readiness=false", "--exit-timeout-secs=3", "--http-port="+port(web), "--grpc-port="+port(rpc), "--metrics-port="+port(o.metrics))...)
	var out sharedtest.LogBuffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &out, append(os.Environ(), "SCENARIO_LOG="+o.log, "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with its Python children
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
		if t.Failed() {
			require.NoError(t, os.WriteFile(filepath.Join(os.TempDir(), "scenario-"+s.Name+".log"), []byte(out.String()), 0o644))
		}
	})
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + web + "/v2/health/ready") //nolint:noctx // it answers or is not there
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 4*time.Minute, 100*time.Millisecond, "the server does not become ready")
	time.Sleep(3 * time.Second) // that many Python interpreters are still busy then
	conn, err := grpc.NewClient(rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	o.client = inferencepb.NewGRPCInferenceServiceClient(conn)
	return o
}
