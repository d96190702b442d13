package perf

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/perf"
)

// ignore is an observer of no interest.
type ignore struct{}

func (ignore) Observe(perf.Event) {}

// TestTogether: every level of a model begins when the levels of all have begun, and all have
// their load until the slowest has measured.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		all := &together{out: &out, sections: []*section{{name: "fast"}, {name: "slow"}}}
		all.mu.running, all.mu.passed = 2, make(chan struct{})
		begin := time.Now()
		times := make([][]time.Duration, 2)
		run := func(i, levels int, takes time.Duration) {
			defer all.leave()
			o := &levelObserver{t.Context(), all, ignore{}}
			for range levels {
				if i == 1 { // only one of the models reports a warm-up
					o.Observe(perf.LevelStarted{WarmUp: true})
				}
				time.Sleep(takes) // connections, first requests
				o.Observe(perf.LevelStarted{})
				times[i] = append(times[i], time.Since(begin))
				time.Sleep(takes)
				_, _ = all.sections[i].Write([]byte("level\n"))
				o.Observe(perf.LevelDone{})
				times[i] = append(times[i], time.Since(begin))
			}
		}
		go run(0, 3, time.Second)
		go run(1, 2, time.Minute)
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		m := time.Minute
		require.Equal(t, []time.Duration{m, 2 * m, 3 * m, 4 * m}, times[1])
		// The third level of the first model is measured alone: nothing waits for ever.
		require.Equal(t, []time.Duration{m, 2 * m, 3 * m, 4 * m, 4*m + time.Second, 4*m + 2*time.Second}, times[0])
		section := "=== Model fast\nlevel\n=== Model slow\nlevel\n"
		require.Equal(t, section+section+"=== Model fast\nlevel\n", out.String())
	})
}

func TestParseAll(t *testing.T) {
	t.Parallel()
	names := func(args string) string {
		all, err := parseAll(process.Process{}, strings.Fields(args))
		require.NoError(t, err, args)
		var s []string
		for _, o := range all {
			s = append(s, strings.TrimSpace(o.name+" "+o.config.Model+" "+o.csv))
		}
		return strings.Join(s, ", ")
	}
	require.Equal(t, "a x.csv", names("-m a -f x.csv"))
	require.Equal(t, "a x.csv", names("-m a -m a -f x.csv"))
	require.Equal(t, "a x.csv", names("-m a -f x.csv --enable-mpi"))
	require.Equal(t, "a a a.x.csv, b b b.x.csv, c c c.x.csv", names("-m a -m b -f x.csv -m c"))
	require.Equal(t, "a a /tmp/a.x.csv, a-2 a, a_v3 a /tmp/a_v3.x.csv", names("-m a -f /tmp/x.csv : -m a : -x 3 -m a -f /tmp/x.csv"))
	require.Equal(t, "a", names("--string-data : -m a"))
	all, err := parseAll(process.Process{}, strings.Fields("-m a -b 1,2 --trace-rate 5 : -m b -b 4 --concurrency-range 2:4:2 --trace-rate 6"))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, all[0].config.Batches)
	require.Equal(t, []int{4}, all[1].config.Batches)
	require.NotEmpty(t, all[0].config.Trace)
	require.Empty(t, all[1].config.Trace, "the settings of the server are set once")
	for args, want := range map[string]string{
		"-m a -m b --concurrency-range 1:4 -l 5":                        "a latency threshold, which ends the levels of one of them, needs a single level",
		"-m a -m b --concurrency-range 1:0 -l 5":                        "needs a single level",
		"-m a -m b --concurrency-range 1:4 -l 5 --binary-search":        "needs a single level",
		"-m a --concurrency-range 1:4 : -m b --concurrency-range 1:6:2": "a has 4 levels, b has 3",
		"-m a :":         "Failed to parse -m (model name)",
		"-m a : -m b -k": "invalid option -- 'k'",
	} {
		_, err := parseAll(process.Process{}, strings.Fields(args))
		require.ErrorContains(t, err, want)
	}
	mpi := process.Process{Environ: []string{"OMPI_COMM_WORLD_SIZE=2"}}
	_, err = parseAll(mpi, strings.Fields("-m a --enable-mpi"))
	require.ErrorContains(t, err, "--enable-mpi: mpiexec started 2 processes (OMPI_COMM_WORLD_SIZE)")
	_, err = parseAll(mpi, strings.Fields("-m a"))
	require.NoError(t, err)
	mpi.Environ[0] = "OMPI_COMM_WORLD_SIZE=1"
	_, err = parseAll(mpi, strings.Fields("-m a --enable-mpi"))
	require.NoError(t, err)
}
