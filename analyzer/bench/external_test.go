package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/meter"
	"triton/analyzer/trial"
)

// fakeMode is the environment variable that makes the test binary perf_analyzer.
const fakeMode = "TRITON_TEST_PERF_ANALYZER"

// level is a report of perf_analyzer 2.50 over gRPC.
const level = "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output," +
	"Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,Avg latency,request/response,response wait,Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory\n" +
	"1,3425.12,2,119,29,9,58,69,0,282,310,325,376,289,2,279,%s\n"

// fake behaves as perf_analyzer.
func fake(mode string) int {
	report := ""
	for i, a := range os.Args {
		if a == "-f" {
			report = os.Args[i+1]
		}
	}
	write := func(text string) { _ = os.WriteFile(report, []byte(text), 0o600) }
	switch mode {
	case "good":
		fmt.Println("Request concurrency: 1")
		write(fmt.Sprintf(level, ",,,"))
	case "unstable":
		fmt.Fprintln(os.Stderr, "Failed to obtain stable measurement within 3 measurement windows for concurrency 1.")
		return 2
	case "empty":
		write(strings.SplitAfter(level, "\n")[0])
	case "silent":
	case "broken":
		fmt.Fprintln(os.Stderr, strings.Repeat("failed to find the requested model; ", 100))
		return 99
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "hang":
		fmt.Println("started")
		time.Sleep(time.Minute)
	case "busy":
		for n := 0; ; n++ {
			if n < 0 {
				return 1
			}
		}
	}
	return 0
}

func program(t *testing.T, mode string) *PerfAnalyzer {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return &PerfAnalyzer{Path: path, Env: append(os.Environ(), fakeMode+"="+mode)}
}

func model(name string) LoadOptions {
	var o LoadOptions
	o.Set("model-name", name)
	return o
}

func TestRun(t *testing.T) {
	t.Parallel()
	for mode, c := range map[string]struct {
		err       string
		unsettled bool
	}{
		"good":     {},
		"unstable": {"perf_analyzer ended with exit status 2: Failed to obtain stable", true},
		"empty":    {"perf_analyzer reported no measurement", false},
		"silent":   {"perf_analyzer reported no measurement", false},
		"broken":   {"perf_analyzer ended with exit status 99: failed to find the requested model;", false},
		"killed":   {`perf_analyzer was killed by signal "killed"`, false},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := program(t, mode)
			var shared bytes.Buffer
			p.Output = &shared
			out := p.Run(t.Context(), []LoadOptions{model("a"), model("b")})
			require.Len(t, out, 2)
			for _, o := range out {
				if c.err == "" {
					require.NoError(t, o.Err)
					assert.InDelta(t, 3425.12, o.Values[trial.Throughput], 0)
					continue
				}
				require.ErrorContains(t, o.Err, c.err)
				assert.Less(t, len(o.Err.Error()), 1100, "an error has the beginning of the output")
				assert.Equal(t, c.unsettled, o.Unsettled)
			}
			if mode == "good" {
				assert.Equal(t, 2, strings.Count(shared.String(), "Request concurrency: 1"))
			}
			assert.Empty(t, p.PIDs())
		})
	}
	p := &PerfAnalyzer{Path: "/nonexistent/perf_analyzer"}
	require.ErrorContains(t, p.Run(t.Context(), []LoadOptions{model("a")})[0].Err, "start the load generator: ")
}

// signalWriter closes a channel at its first write.
type signalWriter chan struct{}

func (s signalWriter) Write(b []byte) (int, error) {
	select {
	case <-s:
	default:
		close(s)
	}
	return len(b), nil
}

func TestCancel(t *testing.T) {
	t.Parallel()
	p := program(t, "hang")
	started := make(signalWriter)
	p.Output = started
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-started
		cancel(errors.New("enough"))
	}()
	out := p.Run(ctx, []LoadOptions{model("a")})
	require.EqualError(t, out[0].Err, "perf_analyzer was stopped: enough")
	require.False(t, out[0].Unsettled)
}

func TestCPULimit(t *testing.T) {
	t.Parallel()
	if _, err := (meter.FS{}).CPUTime(os.Getpid()); err != nil {
		t.Skip("this system does not tell the CPU time of a process: ", err)
	}
	p := program(t, "busy")
	p.CPULimit = 0.001
	out := p.Run(t.Context(), []LoadOptions{model("a")})
	require.ErrorContains(t, out[0].Err, "and --perf-analyzer-cpu-util allows 0")
}

func TestWatchCPU(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		// Half a core for ten seconds, then three cores.
		used := func() (time.Duration, error) {
			d := time.Since(begin)
			return d/2 + max(0, d-10*time.Second)*5/2, nil
		}
		require.NoError(t, watchCPU(during(t, 9*time.Second), 100, used))
		begin = time.Now()
		require.EqualError(t, watchCPU(t.Context(), 100, used), "it used 300 % of a core, and --perf-analyzer-cpu-util allows 100")
		require.Equal(t, 11*time.Second, time.Since(begin))
		require.NoError(t, watchCPU(t.Context(), 100, func() (time.Duration, error) { return 0, os.ErrNotExist }))
	})
}

func during(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestReadCSV(t *testing.T) {
	t.Parallel()
	f, err := readCSV(strings.NewReader(fmt.Sprintf(level,
		"GPU-1:0.5;MIG-a:b:0.25;,GPU-1:100.5;,GPU-1:2000000000;MIG-a:b:1000000;,GPU-1:8000000000;")))
	require.NoError(t, err)
	want := trial.Values{
		trial.Throughput: 3425.12, trial.LatencyAvg: 0.289, trial.LatencyP90: 0.31, trial.LatencyP95: 0.325, trial.LatencyP99: 0.376,
		trial.ClientSendRecv: 0.002, trial.ClientWait: 0.279,
		trial.ServerQueue: 0.029, trial.ServerInput: 0.009, trial.ServerInfer: 0.058, trial.ServerOutput: 0.069,
	}
	assert.InDeltaMapValues(t, want, f.Values, 1e-9)
	assert.Equal(t, map[string]trial.Values{
		"GPU-1": {
			trial.GPUUtilization: 50, trial.GPUPower: 100.5, trial.GPUUsedMemory: 2000, trial.GPUTotalMemory: 8000, trial.GPUFreeMemory: 6000,
		},
		"MIG-a:b": {trial.GPUUtilization: 25, trial.GPUUsedMemory: 1},
	}, f.GPUs)

	http := strings.Replace(fmt.Sprintf(level, ",,,"), "request/response", "send/recv", 1)
	f, err = readCSV(strings.NewReader(http))
	require.NoError(t, err)
	assert.InDelta(t, 0.002, f.Values[trial.ClientSendRecv], 1e-9)
	assert.Empty(t, f.GPUs)

	for text, want := range map[string]string{
		"":                       "has no header",
		"Inferences/Second\n":    "reported no measurement",
		"Inferences/Second\nx\n": `column "Inferences/Second"`,
		"Total GPU Memory\n12\n": `"12" is not a device and its value`,
		"Total GPU Memory\nA:\n": "device A: ",
	} {
		_, err := readCSV(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add(fmt.Sprintf(level, "GPU-1:0.5;,GPU-1:1;,GPU-1:2;,GPU-1:3;"))
	f.Add("Total GPU Memory\n\"A:1;;B:\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		figures, err := readCSV(strings.NewReader(text))
		if err == nil && figures.Values == nil {
			t.Error("neither figures nor an error")
		}
	})
}
