package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/scrape"
	"triton/pkg/sharedtest"
	"triton/server"
	"triton/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// page is the metrics page of a server at a time in seconds. The counters of model resnet50 grow, and
// start again at 12 s, when the server has been replaced.
func page(t *testing.T, at int) *sample {
	t.Helper()
	n := 1000 * at
	if at >= 12 {
		n = 1000 * (at - 9)
	}
	p, err := scrape.Parse(strings.NewReader(fmt.Sprintf(`
nv_inference_request_success{model="resnet50",version="1"} %[1]d
nv_inference_request_failure{model="resnet50",version="1",reason="BACKEND"} %[2]d
nv_inference_count{model="resnet50",version="1"} %[1]d
nv_inference_exec_count{model="resnet50",version="1"} %[3]d
nv_inference_request_duration_us{model="resnet50",version="1"} %[4]d
nv_inference_queue_duration_us{model="resnet50",version="1"} %[1]d
nv_inference_compute_infer_duration_us{model="resnet50",version="1"} %[5]d
nv_inference_request_success{model="a-model-with-a-very-long-name-of-a-team",version="12"} 7
nv_inference_pending_request_count{model="resnet50",version="1"} 3
nv_inference_pending_request_count{model="a-model-with-a-very-long-name-of-a-team",version="12"} 0
triton_inference_in_flight_request_count{model="resnet50",version="1"} 7
triton_model_memory_bytes{model="resnet50",version="1",device="cpu",kind="measured"} 1.5e8
triton_model_memory_bytes{model="resnet50",version="1",device="gpu:0",kind="measured"} 2e9
triton_model_memory_bytes{model="resnet50",version="1",device="gpu:0",kind="estimated"} 9e9
nv_cache_num_hits_per_model{model="resnet50",version="1"} %[2]d
nv_cache_num_misses_per_model{model="resnet50",version="1"} %[3]d
nv_cpu_utilization 0.34
nv_cpu_memory_used_bytes 3.4e9
nv_cpu_memory_total_bytes 1.7e10
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 3e9
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 8e10
triton_model_demand_waiting_requests 2
`, n, n/100, n/8, 2000*n, 1500*n)))
	require.NoError(t, err)
	s := &sample{at: time.Now(), server: "triton 2.60.0", versions: map[version]*state{}}
	s.index([]*client.IndexEntry{
		{Name: "resnet50", Version: "1", State: "READY"},
		{Name: "a-model-with-a-very-long-name-of-a-team", Version: "12", State: "READY"},
		{Name: "broken", Version: "1", State: "UNAVAILABLE", Reason: "no file"},
		{Name: "not-loaded"},
	})
	s.page(p)
	return s
}

// capture is a live view on a terminal of the test. Its clock is that of a synctest bubble.
type capture struct {
	terminal *sharedtest.Screen
	keys     *io.PipeWriter
	frames   strings.Builder
	silent   atomic.Pointer[error]
	ended    chan error
}

func start(t *testing.T, width int) *capture {
	c := &capture{terminal: sharedtest.NewScreen(width, 14), ended: make(chan error, 1)}
	_, err := c.terminal.Write([]byte("$ triton top\r\n"))
	require.NoError(t, err)
	in, keys := io.Pipe()
	c.keys = keys
	v := &view{address: "gpu-17:8000", interval: 2 * time.Second, sort: "requests"}
	at := 0
	go func() {
		c.ended <- v.run(t.Context(), in, c.terminal, func(context.Context) (*sample, error) {
			at += 2
			if err := c.silent.Load(); err != nil {
				return nil, *err
			}
			return page(t, at), nil
		})
	}()
	time.Sleep(1300 * time.Millisecond)
	synctest.Wait()
	fmt.Fprintf(&c.frames, "--- one reading\n%s\n", c.terminal)
	return c
}

// frame waits until the next reading was drawn and keeps what is on the terminal. Readings are at even
// seconds after the start; at odd ones and 300 ms neither a reading nor a drawing is under way.
func (c *capture) frame(name string) {
	time.Sleep(2 * time.Second)
	synctest.Wait()
	fmt.Fprintf(&c.frames, "--- %s\n%s\n", name, c.terminal)
}

func (c *capture) key(t *testing.T, keys string) {
	t.Helper()
	_, err := c.keys.Write([]byte(keys))
	require.NoError(t, err)
}

// TestCapture compares what a terminal shows, at three widths, with golden files.
func TestCapture(t *testing.T) {
	for _, width := range []int{40, 80, 140} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, width)
				c.frame("rates")
				away := errors.New("no connection: connection refused")
				c.silent.Store(&away)
				time.Sleep(4 * time.Second)
				c.frame("the server is away")
				c.silent.Store(nil)
				c.frame("it is back, with counters from 0")
				c.key(t, "/RES")
				c.frame("typing a filter")
				c.key(t, "\r<<<")
				c.frame("sorted by model")
				c.key(t, "q")
				err := <-c.ended
				_ = c.keys.Close()
				time.Sleep(time.Minute) // timers of the view
				require.NoError(t, err)
				require.Equal(t, "$ triton top", c.terminal.String(), "the terminal is as it was")
				require.Empty(t, c.terminal.Unknown())
				golden(t, fmt.Sprintf("capture_%d.txt", width), c.frames.String())
			})
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestOnceFits: the table of --once fits the terminal, and 80 columns without one.
func TestOnceFits(t *testing.T) {
	t.Parallel()
	first, second := page(t, 2), page(t, 4)
	second.at = first.at.Add(2 * time.Second)
	second.notes = []string{"no answer from the metrics port gpu-17:8002, so there is no memory, and there are no queues and no devices"}
	table := between(first, second, "")
	order(table.Rows, "requests", false)
	sharedtest.GoldenWidths(t, "once", func(w io.Writer) error { return table.writeText(w, "requests", false) })
}

// TestScroll: more models than rows.
func TestScroll(t *testing.T) {
	t.Parallel()
	v := &view{sort: "model"}
	s := &sample{at: time.Now(), versions: map[version]*state{}}
	for i := range 30 {
		s.of(version{fmt.Sprintf("m%02d", i), "1"})
	}
	v.show(s, nil)
	shown := func() string {
		rows := strings.Split(v.Draw(60, 10), "\n")
		require.Len(t, rows, 10)
		return rows[3][len("\x1b[m")-3 : 3]
	}
	require.Equal(t, "m00", shown())
	for _, c := range []struct{ key, want string }{
		{"down", "m01"}, {"up", "m00"}, {"up", "m00"}, {"pgdown", "m06"}, {"end", "m24"}, {"down", "m24"}, {"pgup", "m18"}, {"home", "m00"},
	} {
		require.False(t, v.Key(c.key))
		require.Equal(t, c.want, shown(), c.key)
	}
	for _, key := range strings.Split("/ m 0 x backspace", " ") {
		require.False(t, v.Key(key))
	}
	require.Len(t, v.table.Rows, 10)
	v.Key("esc")
	require.Len(t, v.table.Rows, 30)
	require.True(t, v.Key("ctrl+c"))
}

// TestSince: counters that became smaller were counted from 0.
func TestSince(t *testing.T) {
	t.Parallel()
	before := counters{success: events{10, 1000}, rows: 20}
	require.Equal(t, counters{success: events{5, 500}, rows: 10}, counters{success: events{15, 1500}, rows: 30}.since(before))
	again := counters{success: events{11, 900}, rows: 20}
	require.Equal(t, again, again.since(before))
}

// TestOrder: rows without a value are last in both directions.
func TestOrder(t *testing.T) {
	t.Parallel()
	one, two := 1.0, 2.0
	names := func(by string, reverse bool) (all string) {
		rows := []Row{{Model: "a", Version: "10", Requests: &one}, {Model: "a", Version: "9"}, {Model: "b", Version: "1", Requests: &two}}
		order(rows, by, reverse)
		for _, r := range rows {
			all += r.Model + r.Version + " "
		}
		return all
	}
	require.Equal(t, "b1 a10 a9 ", names("requests", false))
	require.Equal(t, "a10 b1 a9 ", names("requests", true))
	require.Equal(t, "a9 a10 b1 ", names("model", false))
	require.Equal(t, "b1 a9 a10 ", names("version", false))
}

// run runs `triton top`.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	p := process.Process{Stdout: &out, Stderr: &errs, Signals: func() (<-chan os.Signal, func()) { return nil, func() {} }}
	cmd := NewCommand(p)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean those of the test
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	code = p.ExitCode(cmd.ExecuteContext(t.Context()))
	return out.String(), errs.String(), code
}

// TestServer: a real server, by both ports and by each of them.
func TestServer(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("ident", servertest.Identity("FP32", "2", 8)), servertest.With(func(o *server.Options) {
		o.Metrics.Allow = true
		o.Metrics.Interval = time.Millisecond
	}))
	c, err := client.New(client.Options{Address: s.HTTP})
	require.NoError(t, err)
	defer c.Close()
	infer := func(n int) {
		for range n {
			_, err := c.Infer(t.Context(), &client.Request{Model: "ident", Inputs: []client.Tensor{{Name: "INPUT0", Datatype: "FP32", Shape: []int64{1, 2}, Data: make([]byte, 8)}}})
			require.NoError(t, err)
		}
	}
	for _, ports := range []serverFlags{{flags.Server{Address: s.HTTP}, s.Metrics}, {flags.Server{Address: s.Metrics}, s.Metrics}, {flags.Server{Address: s.HTTP}, s.HTTP}} {
		at, err := ports.connect()
		require.NoError(t, err)
		infer(3)
		first, err := read(t.Context(), at, time.Minute)
		require.NoError(t, err)
		infer(7)
		second, err := read(t.Context(), at, time.Minute)
		require.NoError(t, err)
		at.close()
		all := between(first, second, "")
		require.InDelta(t, 7, *all.All.Requests*all.Seconds, 1e-6)
		require.InDelta(t, 0, *all.Rows[0].Failures, 0)
		require.InDelta(t, 1, *all.Rows[0].Batch, 0)
		require.Positive(t, *all.Rows[0].Latency)
	}
	table := func(args ...string) (all Table) {
		stdout, stderr, code := run(t, append([]string{"--output", "json", "--interval", "200ms", "--timeout", "60s"}, args...)...)
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(stdout), &all))
		require.Len(t, all.Rows, 1, stdout)
		require.NotNil(t, all.Rows[0].Requests, stdout)
		return all
	}
	both := table("-u", s.HTTP, "--metrics-url", s.Metrics)
	require.Empty(t, both.Notes)
	require.Equal(t, "READY", both.Rows[0].State)
	require.NotNil(t, both.Rows[0].InFlight)
	require.NotNil(t, both.Rows[0].Pending)

	metrics := table("-u", s.Metrics, "--metrics-url", s.Metrics)
	require.Contains(t, fmt.Sprint(metrics.Notes), "no statistics")
	http := table("-u", s.HTTP, "--metrics-url", s.HTTP)
	require.Contains(t, fmt.Sprint(http.Notes), "no memory, queues and devices")
	require.Nil(t, http.Rows[0].Pending)

	stdout, stderr, code := run(t, "-u", s.HTTP, "--metrics-url", s.Metrics, "--interval", "100ms", "--timeout", "60s", "--filter", "IDEN")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "MODEL")
	require.Contains(t, stdout, "ident")
	require.NotContains(t, stdout, "\x1b")

	_, stderr, code = run(t, "-u", s.HTTP, "--metrics-url", s.Metrics, "--timeout", "1ns")
	require.Equal(t, process.Failure, code)
	require.Contains(t, stderr, "top: ")
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"more", `"more" was given`},
		{"--sort speed", `unknown column "speed"`},
		{"--interval 1ms", "--interval: 1ms is less than 100ms"},
		{"--timeout 0s", "--timeout"},
		{"--output xml", "xml"},
		{"--intervall 1s", "did you mean"},
	} {
		_, stderr, code := run(t, strings.Fields(c.args)...)
		require.Equal(t, process.Usage, code, c.args)
		require.Contains(t, stderr, c.want)
	}
}

// TestHostile: what a server calls itself and its models is not obeyed by the terminal.
func TestHostile(t *testing.T) {
	t.Parallel()
	v := &view{sort: "model"}
	s := &sample{at: time.Now(), server: "a\x1b]0;b\a", notes: []string{"c\x1b[2J"}, versions: map[version]*state{}}
	s.of(version{"模型\x1b[31m\n", "1\u009b2J"})
	v.show(s, nil)
	v.err = errors.New("401: \x1b[2J\r\nwho")
	drawn := v.Draw(100, 20)
	var text strings.Builder
	require.NoError(t, v.table.writeText(&text, "model", false))
	for _, all := range []string{drawn, text.String()} {
		require.Contains(t, all, "模型?[31m?")
		for _, bad := range []string{"\x1b[2J", "\x1b[31m\n", "\x1b]", "\u009b", "\r"} {
			require.NotContains(t, all, bad)
		}
	}
}
