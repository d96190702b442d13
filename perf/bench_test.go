package perf_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/load"
	"triton/perf/load/loadtest"
	"triton/pkg/client"
	"triton/pkg/client/lane"
)

// nullServers are both kinds, for benchmarks.
func nullServers(tb testing.TB) map[client.Protocol]string {
	h, err := loadtest.StartHTTP("127.0.0.1:0")
	require.NoError(tb, err)
	g, err := loadtest.StartGRPC("127.0.0.1:0")
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = h.Close(); g.Close() })
	return map[client.Protocol]string{client.HTTP: h.Address, client.GRPC: g.Address}
}

// BenchmarkNull is the round trip of the generator against a server that does
// nothing, both in this process.
func BenchmarkNull(b *testing.B) {
	addresses := nullServers(b)
	for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
		for _, n := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/concurrency=%d", p, n), func(b *testing.B) {
				c, err := lane.New(lane.Options{Options: client.Options{Protocol: p, Address: addresses[p]}})
				require.NoError(b, err)
				defer func() { require.NoError(b, c.Close()) }()
				prepared, err := c.Prepare(loadtest.Request())
				require.NoError(b, err)
				g := load.NewClosed(context.Background(), load.Options{Dialer: c, Source: &load.Steps{Prepared: []*lane.Prepared{prepared}, Batch: 1}})
				defer g.Close()
				<-g.Start(load.Demand{Concurrency: n, Total: n}) // connections stand
				b.ReportAllocs()
				b.ResetTimer()
				<-g.Start(load.Demand{Concurrency: n, Total: max(b.N, n)})
			})
		}
	}
}

var requestCount = regexp.MustCompile(`(?m)^ {4}Request count: ([0-9]+)$`)

// BenchmarkClientCPU is the CPU time per request of whole programs against a
// null server in this process, pinned to one core with it. It compares `triton
// perf` of the binary TRITON_BINARY with NVIDIA's program TRITON_PERF_ANALYZER
// and is skipped without them.
func BenchmarkClientCPU(b *testing.B) {
	programs := map[string][]string{}
	if p := os.Getenv("TRITON_BINARY"); p != "" {
		programs["triton"] = []string{p, "perf"}
	}
	if p := os.Getenv("TRITON_PERF_ANALYZER"); p != "" {
		programs["perf_analyzer"] = []string{p}
	}
	if len(programs) == 0 || runtime.GOOS != "linux" {
		b.Skip("set TRITON_BINARY and TRITON_PERF_ANALYZER to programs on Linux")
	}
	addresses := nullServers(b)
	for _, p := range []client.Protocol{client.HTTP, client.GRPC} {
		for _, n := range []int{1, 8, 64} {
			for _, name := range []string{"perf_analyzer", "triton"} {
				if programs[name] == nil {
					continue
				}
				b.Run(fmt.Sprintf("%s/concurrency=%d/%s", p, n, name), func(b *testing.B) {
					for b.Loop() {
						runProgram(b, programs[name], p, addresses[p], n)
					}
				})
			}
		}
	}
}

func runProgram(b *testing.B, program []string, p client.Protocol, address string, concurrency int) {
	protocol := map[client.Protocol]string{client.HTTP: "http", client.GRPC: "grpc"}[p]
	args := append([]string{"-c", "0"}, program...)
	args = append(args, "-m", loadtest.Model, "-u", address, "-i", protocol, "-p", "800", "-s", "999", "-r", "3",
		"--concurrency-range", strconv.Itoa(concurrency))
	cmd := exec.Command("taskset", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(b, cmd.Run(), out.String())
	m := requestCount.FindStringSubmatch(out.String())
	require.NotNil(b, m, out.String())
	n, err := strconv.Atoi(m[1])
	require.NoError(b, err)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	b.ReportMetric(float64(cpu)/float64(time.Microsecond)/float64(n), "cpu-us/request")
	b.ReportMetric(float64(n)/2.88, "requests/s")
}
