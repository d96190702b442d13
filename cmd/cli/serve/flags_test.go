package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/server"
	"triton/server/frontend"
	"triton/server/grpcapi"
	"triton/server/hostpolicy"
	"triton/server/repository"
	"triton/server/trace"
)

// parse returns what a command line sets, with an environment of "KEY=value" fields.
func parse(t *testing.T, line, environ string) *options {
	t.Helper()
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o := newOptions(process.Process{Environ: strings.Fields(environ)}, set)
	require.NoError(t, set.Parse(strings.Fields(line)), line)
	_, err := o.finish()
	require.NoError(t, err, line)
	return o
}

// TestFlagsReachOptions checks the option that each flag sets: a case has the value that the
// command line set and the expected one.
func TestFlagsReachOptions(t *testing.T) {
	t.Parallel()
	type all = *server.Options
	for _, c := range []struct {
		line string
		got  func(all) any
		want any
	}{
		{"--model-repository b --model-store a --model-repository=b", func(o all) any { return o.Repositories }, []string{"a", "b"}},
		{"--model-control-mode EXPLICIT --load-model b --load-model a", func(o all) any { return []any{o.Models.Control, o.Models.Startup} }, []any{repository.ControlExplicit, []string{"a", "b"}}},
		{"--model-control-mode=auto --load-model=a", func(o all) any {
			return []any{o.Models.Control, o.Models.Startup, o.Models.PollInterval, o.Models.OnDemand}
		}, []any{repository.ControlAuto, []string{"a"}, time.Duration(0), server.Default().Models.OnDemand}},
		{"--model-control-mode=auto --repository-poll-secs=3", func(o all) any { return o.Models.PollInterval }, 3 * time.Second},
		{"--model-control-mode=auto --memory-budget=2GiB --memory-budget gpu:1=50% --model-keep-alive-secs=1.5 --pin-model=a --pin-model=b --auto-load-timeout-secs=5 --auto-load-max-waiting=7", func(o all) any { return o.Models.OnDemand }, server.OnDemand{
			Budgets: []string{"2GiB", "gpu:1=50%"}, KeepAlive: 1500 * time.Millisecond, Timeout: 5 * time.Second, MaxWaiting: 7, Pinned: []string{"a", "b"},
		}},
		{"--memory-record=/tmp/r.json", func(o all) any { return o.Models.MemoryRecord }, "/tmp/r.json"},
		{"--model-control-mode=poll", func(o all) any { return o.Models.PollInterval }, 15 * time.Second},
		{"--model-control-mode=poll --repository-poll-secs=-3", func(o all) any { return o.Models.PollInterval }, time.Duration(0)},
		{"--repository-poll-secs 3", func(o all) any { return o.Models.PollInterval }, time.Duration(0)},
		{"--model-control-mode=poll", func(o all) any { return o.Models.SettleTime }, time.Second},
		{"--model-control-mode=poll --repository-settle-time=250", func(o all) any { return o.Models.SettleTime }, 250 * time.Millisecond},
		{"--model-load-thread-count 0", func(o all) any { return o.LoadThreads }, 1},
		{"--model-load-retry-count 2", func(o all) any { return o.Models.Retries }, 2},
		{"--model-load-retry-count=-2", func(o all) any { return o.Models.Retries }, 0},
		{"--model-config-name h100", func(o all) any { return o.Models.ConfigName }, "h100"},
		{"--model-namespacing 1", func(o all) any { return o.Models.Namespacing }, true},
		{"--model-load-gpu-limit 0:0.5 --model-load-gpu-limit 1:1 --model-load-gpu-limit 0:0.9", func(o all) any { return o.Models.GPULimits }, map[int]float64{0: 0.5, 1: 1}},
		{"--strict-model-config 1", func(o all) any { return o.AutoComplete }, false},
		{"--exit-timeout-secs=-4", func(o all) any { return o.ExitTimeout }, time.Duration(0)},
		{"--http-header-forward-pattern ^x-", func(o all) any { return o.HTTP.Forward.MatchString("X-Y") }, true},
		{"--http-min-receive-rate 0 --http-max-connections 9", func(o all) any { return [2]int{int(o.HTTP.MinRate), o.HTTP.MaxConnections} }, [2]int{0, 9}},
		{"--request-memory-budget 2GiB", func(o all) any { return o.RequestMemory }, int64(2 << 30)},
		{"--stream-backlog-byte-size 77", func(o all) any { return o.StreamBacklog }, int64(77)},
		{"--grpc-header-forward-pattern b", func(o all) any { return o.GRPC.Frontend.Forward.MatchString("aBc") }, true},
		{"--http-restricted-api health:a=b", func(o all) any { return *o.HTTP.Restricted.Needs(frontend.HealthCalls) }, frontend.SecretHeader{Name: "a", Value: "b"}},
		{"--grpc-restricted-protocol logging,trace:a=b=c", func(o all) any { return *o.GRPC.Frontend.Restricted.Needs(frontend.TraceCalls) }, frontend.SecretHeader{Name: "a", Value: "b=c"}},
		{"--http-allow-origin a --http-allow-origin b", func(o all) any { return o.HTTP.Origins }, []string{"a", "b"}},
		{
			"--http-use-ssl on --http-server-cert c --http-server-key k --http-root-cert r",
			func(o all) any { return o.HTTP.TLS },
			server.TLS{Allow: true, Cert: "c", Key: "k", Root: "r"},
		},
		{"--metrics-use-ssl-mutual 1", func(o all) any { return o.Metrics.TLS }, server.TLS{Allow: true, Mutual: true}},
		{"--grpc-use-ssl-mutual 0", func(o all) any { return o.GRPC.TLS }, server.TLS{Allow: true}},
		{"--grpc-infer-response-compression-level HIGH", func(o all) any { return o.GRPC.Frontend.Compression }, grpcapi.CompressHigh},
		{"--grpc-keepalive-time 7", func(o all) any { return o.GRPC.Frontend.KeepaliveTime }, 7 * time.Millisecond},
		{"", func(o all) any { return o.GRPC.Frontend.MaxConcurrentStream }, uint32(1024)},
		{"--grpc-max-concurrent-streams 7", func(o all) any { return o.GRPC.Frontend.MaxConcurrentStream }, uint32(7)},
		{"--grpc-transport builtin", func(o all) any { return o.GRPC.Frontend.Transport }, grpcapi.TransportBuiltin},
		{"--grpc-max-header-list-size 2000", func(o all) any { return o.GRPC.Frontend.MaxHeaderList }, uint32(2000)},
		{"--grpc-max-connection-receive-size 5", func(o all) any { return o.GRPC.Frontend.MaxReceiveConn }, int64(5)},
		{"--allow-metrics 0", func(o all) any { return [2]bool{o.Metrics.GPU, o.Metrics.CPU} }, [2]bool{}},
		{"--metrics-interval-ms 12.9", func(o all) any { return o.Metrics.Interval }, 12 * time.Millisecond},
		{"--metrics-config a=1 --metrics-config b=2=3 --metrics-config a=4", func(o all) any { return o.Metrics.Settings }, map[string]string{"a": "4", "b": "2=3"}},
		{"--allow-client-shm true", func(o all) any { return o.ClientSharedMemory }, true},
		{
			"--host-policy p,cpu-cores=0-1 --host-policy p,numa-node=1 --host-policy p,cpu-cores=2-3,5-5",
			func(o all) any { return o.HostPolicies },
			hostpolicy.Policies{"p": {"cpu-cores": "2-3,5-5", "numa-node": "1"}},
		},
		{"--backend-config a,b=c --backend-config d=e=f", func(o all) any { return o.BackendSettings }, map[string]map[string]string{"a": {"b": "c"}, "": {"d": "e=f"}}},
		{"--sagemaker-safe-port-range 1-9000 --sagemaker-port 1", func(o all) any { return *o.SageMaker.SafePorts }, [2]int{1, 9000}},
		{
			"--trace-rate 5 --trace-level off --trace-config level=TENSORS --trace-config triton,file=x",
			func(o all) any { return o.Trace.Config },
			map[string][]trace.Setting{trace.Global: {{Name: "rate", Value: "5"}}, trace.Triton: {{Name: "file", Value: "x"}}},
		},
	} {
		assert.Equal(t, c.want, c.got(&parse(t, c.line, "").Options), c.line)
	}
}

// TestCommandLinesOfOtherPrograms takes the command lines of programs that start Triton.
func TestCommandLinesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		// KServe's serving runtime.
		"--model-store=/mnt/models --grpc-port=9000 --http-port=8080 --allow-grpc=true --allow-http=true",
		// Model Analyzer.
		"--model-repository=/tmp/m --http-port=8000 --grpc-port=8001 --metrics-port=8002 --model-control-mode=explicit " +
			"--metrics-interval-ms=1000 --min-supported-compute-capability=7.5 --log-verbose=0 --exit-timeout-secs=30 --load-model=*",
		// PyTriton.
		"--model-repository=/tmp/m --backend-directory=/b --cache-directory=/c --model-control-mode=explicit --load-model=* " +
			"--backend-config=python,shm-region-prefix-name=p1 --disable-auto-complete-config --exit-on-error=false " +
			"--cache-config=local,size=1048576 --http-address=0.0.0.0 --grpc-infer-allocation-pool-size=16 --log-file=",
		// Helm charts and guides of Triton.
		"--model-repository=/m --strict-model-config=false --pinned-memory-pool-byte-size=1048576 --cuda-memory-pool-byte-size=0:1048576 " +
			"--rate-limit=execution_count --rate-limit-resource=R1:10 --rate-limit-resource=R2:5:0 --host-policy=gpu_0,numa-node=0 --host-policy=gpu_0,cpu-cores=0-15 " +
			"--buffer-manager-thread-count=2 --grpc-http2-max-ping-strikes=0 --trace-config=mode=opentelemetry --trace-config=opentelemetry,url=localhost:4318/v1/traces " +
			"--trace-config=opentelemetry,resource=service.name=t --trace-config=rate=1 --trace-config=level=TIMESTAMPS",
	} {
		parse(t, line, "")
	}
}
