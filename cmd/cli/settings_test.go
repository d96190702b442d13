package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/perf/load/loadtest"
	"triton/pkg/sharedtest"
)

// serviceLinks are the variables that Kubernetes sets in every container for a
// Service with these ports, by port name.
func serviceLinks(service, ip string, ports map[string]int) (environ []string) {
	name := strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
	host := ip
	if strings.Contains(ip, ":") {
		host = "[" + ip + "]"
	}
	set := func(suffix, format string, args ...any) {
		environ = append(environ, name+suffix+"="+fmt.Sprintf(format, args...))
	}
	set("_SERVICE_HOST", "%s", ip)
	for port, number := range ports {
		set("_SERVICE_PORT", "%d", number)
		set("_SERVICE_PORT_"+strings.ToUpper(port), "%d", number)
		set("_PORT", "tcp://%s:%d", host, number)
		at := fmt.Sprintf("_PORT_%d_TCP", number)
		set(at, "tcp://%s:%d", host, number)
		set(at+"_PROTO", "tcp")
		set(at+"_PORT", "%d", number)
		set(at+"_ADDR", "%s", ip)
	}
	return environ
}

func kubernetes() (environ []string) {
	for _, service := range []string{
		"triton", "triton-http", "triton-grpc", "triton-metrics", "triton-sagemaker", "triton-vertex-ai",
		"triton-serve", "triton-serve-http", "triton-serve-grpc", "triton-perf", "triton-analyze", "triton-repo-lint",
	} {
		environ = append(environ, serviceLinks(service, "10.0.0.1", map[string]int{"http": 8000, "grpc": 8001, "metrics": 8002})...)
		environ = append(environ, serviceLinks(service, "fd00::1", map[string]int{"http": 8000})...)
	}
	return environ
}

// TestServeWithKubernetesServiceVariables starts with the variables of Services that
// are named like flags. They are not settings: the ports of the file are used.
func TestServeWithKubernetesServiceVariables(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "triton.yaml")
	port := sharedtest.Ports(t, 1)[0]
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil,
		"model-repository: [%s]\nallow-grpc: false\nallow-metrics: false\nhttp-address: 127.0.0.1\nhttp-port: %d\n", clitest.Models(t), port), 0o600))
	p := clitest.New().Start(append(kubernetes(), "TRITON_ID=named"), "serve", "--config", file)
	at := fmt.Sprintf("127.0.0.1:%d", port)
	p.Printed(t, "Started HTTPService at "+at)
	resp, err := http.Get("http://" + at + "/v2/health/ready")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	p.Signals <- syscall.SIGTERM
	require.Zero(t, <-p.Exit)
	require.Contains(t, p.Stdout.String(), "| named", "other variables count")
	for _, name := range []string{"TRITON_HTTP_PORT", "TRITON_GRPC_PORT", "TRITON_METRICS_PORT", "TRITON_SERVE_HTTP_PORT"} {
		require.Equal(t, 1, strings.Count(p.Stderr.String(), "environment variable "+name+" is ignored: "), p.Stderr.String())
	}
}

// nullServer returns the address of a server that a load generator can measure.
func nullServer(t *testing.T) string {
	t.Helper()
	s, err := loadtest.StartHTTP("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s.Address
}

func TestOtherCommandsWithKubernetesServiceVariables(t *testing.T) {
	t.Parallel()
	models := clitest.Models(t)
	code, out, errs := clitest.Run(t, kubernetes(), "repo", "lint", models)
	require.Zero(t, code, out+errs)
	require.NotContains(t, errs, "environment variable")
	code, _, errs = clitest.Run(t, kubernetes(), "perf", "-m", "null", "-u", nullServer(t), "-p", "50", "-s", "99999", "--request-count", "5")
	require.Zero(t, code, errs)
	require.NotContains(t, errs, "environment variable")
}

// TestOnlyLinksAreIgnored: any other invalid variable prevents the start.
func TestOnlyLinksAreIgnored(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"y", "http://10.0.0.1:8000", "tcp://10.0.0.1", "tcp://10.0.0.1:", "tcp://10.0.0.1:http", "tcp://triton:8000", "10.0.0.1:8000"} {
		for _, name := range []string{"TRITON_GRPC_PORT", "TRITON_SERVE_GRPC_PORT"} {
			code, _, errs := clitest.Run(t, []string{name + "=" + value}, "serve")
			require.Equal(t, 1, code)
			require.Equal(t, "triton: environment variable "+name+": --grpc-port: Invalid option value. Got "+value+"\n", errs)
		}
	}
	code, _, errs := clitest.Run(t, []string{"TRITON_SERVE_LOG_FORMAT=tcp://10.0.0.1:1"}, "serve")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "TRITON_SERVE_LOG_FORMAT: --log-format", "no Service makes that name")
}

// TestVariablesOfCommands: a variable with the name of the command wins over
// the short one, which all commands share, and means nothing to the others.
func TestVariablesOfCommands(t *testing.T) {
	t.Parallel()
	address := nullServer(t)
	for want, environ := range map[string][]string{
		"window: 40 msec": {"TRITON_MEASUREMENT_INTERVAL=40"},
		"window: 60 msec": {"TRITON_MEASUREMENT_INTERVAL=40", "TRITON_PERF_MEASUREMENT_INTERVAL=60", "TRITON_ANALYZE_MEASUREMENT_INTERVAL=70"},
	} {
		_, out, errs := clitest.Run(t, environ, "perf", "-m", "null", "-u", address, "-s", "99999")
		require.Contains(t, out, want, errs) // a busy machine may send nothing in so short a window
	}
	_, _, errs := clitest.Run(t, []string{"TRITON_HTTP_PORT=1", "TRITON_SERVE_HTTP_PORT=y"}, "serve")
	require.Equal(t, "triton: environment variable TRITON_SERVE_HTTP_PORT: --http-port: Invalid option value. Got y\n", errs)
	_, _, errs = clitest.Run(t, []string{"TRITON_SERVE_CONFIG=/none.yaml"}, "serve")
	require.Contains(t, errs, "/none.yaml")
	code, _, errs := clitest.Run(t, []string{"TRITON_FORMAT=text", "TRITON_REPO_LINT_FORMAT=odd"}, "repo", "lint", clitest.Models(t))
	require.NotZero(t, code)
	require.Contains(t, errs, "odd")
}
