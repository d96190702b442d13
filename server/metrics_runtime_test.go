package server_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/scrape"
	"triton/server"
	custom "triton/server/backend"
	"triton/server/capi"
	"triton/server/servertest"
)

// TestRuntimeMetrics checks the names that dashboards of Go programs use, that their values are those
// of this process, and that they are behind all metrics of Triton.
func TestRuntimeMetrics(t *testing.T) {
	t.Parallel()
	servertest.NeedsInProcess(t, "compares with the values of this process")
	s := servertest.Start(t)
	_, page := get(t, newClient(t), "http://"+s.Metrics+"/metrics")
	for _, name := range []string{
		"go_goroutines", "go_threads", "go_info", "go_gc_duration_seconds", "go_gc_gogc_percent", "go_gc_gomemlimit_bytes",
		"go_sched_gomaxprocs_threads", "go_sched_latencies_seconds", "go_memstats_heap_alloc_bytes", "go_memstats_heap_inuse_bytes",
		"go_memstats_alloc_bytes_total", "go_memstats_next_gc_bytes", "go_memstats_last_gc_time_seconds",
	} {
		require.Equal(t, 1, strings.Count(page, "# TYPE "+name+" "), name)
	}
	require.Contains(t, page, `go_info{version="`+runtime.Version()+`"} 1`)
	require.Contains(t, page, `go_sched_latencies_seconds_bucket{le="+Inf"} `)
	require.Less(t, strings.LastIndex(page, "# TYPE nv_"), strings.Index(page, "# TYPE go_"))
	require.Less(t, strings.LastIndex(page, "# TYPE triton_"), strings.Index(page, "# TYPE go_"))

	parsed, err := scrape.Parse(strings.NewReader(page))
	require.NoError(t, err)
	require.Positive(t, parsed.Sum("go_goroutines", nil))
	require.Positive(t, parsed.Sum("go_memstats_heap_alloc_bytes", nil))
	if runtime.GOOS != "linux" {
		return
	}
	for _, name := range []string{"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_max_fds"} {
		require.Positive(t, parsed.Sum(name, nil), name)
	}
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	require.NotEmpty(t, open)
	require.GreaterOrEqual(t, parsed.Sum("process_open_fds", nil), 3.0)
	began := parsed.Sum("process_start_time_seconds", nil)
	require.Less(t, began, float64(time.Now().Unix()+1))
	require.NotContains(t, strconv.FormatFloat(began, 'f', -1, 64), "e")
}

// TestRuntimeMetricsOfPrograms: a program that embeds the server has metrics of its process itself.
func TestRuntimeMetricsOfPrograms(t *testing.T) {
	t.Parallel()
	o := server.Default()
	o.Repositories = []string{t.TempDir()}
	o.HTTP.Allow, o.GRPC.Allow, o.Metrics.Allow = false, false, false
	o.Metrics.Embedded = true
	s, err := server.New(o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Serving():
	case err := <-ended:
		t.Fatal(err)
	}
	page, err := s.MetricsText()
	require.NoError(t, err)
	require.Contains(t, string(page), "# TYPE triton_")
	require.NotContains(t, string(page), "# TYPE go_")
	require.NotContains(t, string(page), "# TYPE process_")
	stop()
	require.NoError(t, <-ended)
}

// TestMetricsOfLibraries: a family that a library makes is on the page once. It is not parallel: the
// registry of libraries is that of the process, and other tests compare whole pages.
func TestMetricsOfLibraries(t *testing.T) {
	servertest.NeedsInProcess(t, "makes a metric of a library")
	family, err := capi.Metrics().Family("library_calls", "calls", custom.Counter)
	require.NoError(t, err)
	defer family.Release()
	one, err := family.Metric(nil, nil)
	require.NoError(t, err)
	defer one.Release()
	require.NoError(t, one.Increment(2))
	s := servertest.Start(t)
	_, page := get(t, newClient(t), "http://"+s.Metrics+"/metrics")
	require.Equal(t, 1, strings.Count(page, "# TYPE library_calls counter\n"))
	require.Equal(t, 1, strings.Count(page, "\nlibrary_calls 2\n"))
}

// BenchmarkScrape reads the page of a server with ten models over one connection.
func BenchmarkScrape(b *testing.B) {
	var models []servertest.Option
	for i := range 10 {
		models = append(models, servertest.Model("m"+strconv.Itoa(i), servertest.Identity("INT32", "4", 8)))
	}
	s := servertest.Start(b, models...)
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for b.Loop() {
		resp, err := c.Get("http://" + s.Metrics + "/metrics")
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.StatusCode, err)
		}
		b.SetBytes(n)
	}
}
