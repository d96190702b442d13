package trace

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

func TestRate(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=3")
	var traced []int
	for i := 1; i <= 10; i++ {
		if serve(tr, "m") {
			traced = append(traced, i)
		}
	}
	require.Equal(t, []int{3, 6, 9}, traced)
	require.NoFileExists(t, file, "one file, at the end")
	require.NoError(t, tr.Shutdown(context.Background()))
	require.Equal(t, []uint64{1, 2, 3}, ids(t, file))
	require.False(t, serve(tr, "m"))
}

func TestLogFrequency(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1", "triton,log-frequency=2")
	for range 5 {
		require.True(t, serve(tr, "m"))
	}
	tr.out.sync()
	require.Equal(t, []string{"trace.json.0", "trace.json.1"}, files(t, file))
	require.NoError(t, tr.Shutdown(context.Background()))
	require.Equal(t, []uint64{1, 2}, ids(t, file+".0"))
	require.Equal(t, []uint64{3, 4}, ids(t, file+".1"))
	require.Equal(t, []uint64{5}, ids(t, file+".2"))
	require.NoFileExists(t, file)
}

func TestCount(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1", "count=2")
	require.True(t, serve(tr, "m"))
	require.Equal(t, "TIMESTAMPS 1 1 0", show(tr, ""))
	require.True(t, serve(tr, "m"))
	require.False(t, serve(tr, "m"))
	tr.out.sync()
	require.Equal(t, []uint64{1, 2}, ids(t, file+".0"))
	require.NoError(t, change(t, tr, "", "trace_count=1"))
	require.True(t, serve(tr, "m"))
	tr.out.sync()
	require.Equal(t, []uint64{3}, ids(t, file+".1"))
	require.EqualError(t, change(t, tr, "", "trace_rate=1"), "Attempting to set invalid trace setting :", "the count is used up")
	require.NoError(t, change(t, tr, "", "trace_count=none"))
	require.Equal(t, "TIMESTAMPS 1 2 0", show(tr, ""))
}

// With another rate than 1 Triton does not see that the count is complete.
func TestCountWithRate(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=2", "count=1")
	require.False(t, serve(tr, "m"))
	require.True(t, serve(tr, "m"))
	require.False(t, serve(tr, "m"))
	require.Empty(t, files(t, file))
	require.NoError(t, change(t, tr, "", "trace_level=OFF"))
	require.Equal(t, []uint64{1}, ids(t, file))
}

// Requests that were sampled under replaced settings are appended to the file when the last of
// them has ended.
func TestReplacedSettings(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1")
	require.True(t, serve(tr, "m"))
	late := tr.Sample("m", nil)
	require.NoError(t, change(t, tr, "", "trace_rate=2"))
	require.NoFileExists(t, file)
	require.False(t, serve(tr, "m"), "the counter begins anew")
	mark(late, "HTTP_RECV_START", 1)
	sent(late)
	tr.out.sync()
	require.Equal(t, []uint64{1, 2}, ids(t, file))
	require.True(t, serve(tr, "m"))
	require.NoError(t, tr.Shutdown(context.Background()))
	require.Equal(t, []uint64{1, 2, 3}, ids(t, file))
}

func TestModelSettings(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "rate=1")
	require.False(t, serve(tr, "a"))
	require.NoError(t, change(t, tr, "b", "trace_level=TIMESTAMPS"))
	require.False(t, serve(tr, "a"))
	require.True(t, serve(tr, "b"))
	require.NoError(t, change(t, tr, "b", "trace_level=none"))
	require.False(t, serve(tr, "b"))
	require.Equal(t, []uint64{1}, ids(t, file))
	require.Nil(t, tr.active.Load())
}

func TestLargeTracesAreWrittenEarly(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1")
	n := 0
	for tr.current.Load().global.mu.finished == 0 || len(tr.current.Load().global.mu.pending) > 0 {
		require.True(t, serve(tr, "m"))
		n++
	}
	tr.out.sync()
	require.Len(t, ids(t, file), n)
	require.True(t, serve(tr, "m"))
	require.NoError(t, tr.Shutdown(context.Background()))
	require.Len(t, ids(t, file), n+1)
}

// A request that the frontend or the core refuses is not recorded.
func TestRefusedRequest(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1")
	a := tr.Sample("m", nil)
	mark(a, "HTTP_RECV_START", 5)
	sent(a) // without a request
	b := tr.Sample("m", nil)
	r := infer.NewRequest()
	r.Trace = b
	r.Release()
	r.Release() // ended without being received
	mark(b, "HTTP_RECV_START", 6)
	sent(b)
	mark(b, "HTTP_SEND_END", 7) // too late
	require.NoError(t, tr.Shutdown(context.Background()))
	all := read(t, file)
	require.Len(t, all, 2)
	require.Equal(t, "HTTP_RECV_START", all[1].Timestamps[0].Name)
	require.EqualValues(t, 1, tr.current.Load().global.refs.Load())
}

func TestNilAndOff(t *testing.T) { //nolint:paralleltest // AllocsPerRun
	var none *Tracer
	require.False(t, serve(none, "m"))
	require.NoError(t, none.Shutdown(context.Background()))
	tr, _ := open(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if tr.Sample("m", nil) != nil {
			t.Error("sampled")
		}
	}))
}

func TestFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1", "triton,log-frequency=1")
	require.NoError(t, os.Mkdir(file+".0", 0o755))
	require.True(t, serve(tr, "m"))
	require.True(t, serve(tr, "m"))
	tr.out.sync()
	require.Equal(t, []uint64{2}, ids(t, file+".1"))
}

// TestConcurrent samples while the settings change. Every trace is written once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "level=TIMESTAMPS", "rate=1", "triton,log-frequency=7")
	var wg sync.WaitGroup
	var mu sync.Mutex
	traced := 0
	for range 4 {
		wg.Go(func() {
			n := 0
			for range 200 {
				if serve(tr, "m") {
					n++
				}
			}
			mu.Lock()
			traced += n
			mu.Unlock()
		})
	}
	for i := range 50 {
		require.NoError(t, change(t, tr, []string{"", "m"}[i%2], "trace_rate="+strconv.Itoa(1+i%3)))
	}
	wg.Wait()
	require.NoError(t, tr.Shutdown(context.Background()))
	seen := map[uint64]bool{}
	for i := range len(files(t, file)) {
		for _, id := range ids(t, file+"."+strconv.Itoa(i)) {
			require.False(t, seen[id])
			seen[id] = true
		}
	}
	require.Len(t, seen, traced)
	require.EqualValues(t, 1, tr.current.Load().global.refs.Load())
}

func BenchmarkSample(b *testing.B) {
	for _, c := range []struct {
		name string
		args []string
	}{
		{"off", nil},
		{"one of 1000000000", []string{"triton,file=%f", "level=TIMESTAMPS", "rate=1000000000"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			tr, _ := open(b, c.args...)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if tr.Sample("m", nil) != nil {
						b.Error("sampled")
					}
				}
			})
		})
	}
}

func BenchmarkTraced(b *testing.B) {
	tr, _ := open(b, "triton,file=%f", "level=TIMESTAMPS", "rate=1", "triton,log-frequency=1000")
	b.ReportAllocs()
	for b.Loop() {
		serve(tr, "m")
	}
}
