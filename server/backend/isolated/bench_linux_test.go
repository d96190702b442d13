package isolated_test

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/isolated"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

var models = flag.String("models", filepath.Join("..", "..", "..", "models"), "folder that 'triton repo example' wrote")

// BenchmarkForms puts requests through an instance group, in the process of the server and in a
// child: time, latency, processor time of all processes, and allocations of the server for a
// request.
func BenchmarkForms(b *testing.B) {
	if _, err := os.Stat(*models); err != nil {
		b.Skip("needs the example models: run bin/triton repo example models/, or give -models")
	}
	for _, c := range []struct {
		model string
		bytes int // of the first input; 0: the only size
	}{{"identity_fp32", 1 << 10}, {"identity_fp32", 1 << 20}, {"simple", 0}, {"resnet50", 0}} {
		for _, clients := range []int{1, 8} {
			for _, f := range forms[:2] {
				b.Run(fmt.Sprintf("%s/%d/clients=%d/%s", c.model, c.bytes, clients, strings.ReplaceAll(f.name, " ", "-")), func(b *testing.B) {
					f.benchmark(b, c.model, c.bytes, clients)
				})
			}
		}
	}
}

func (f form) benchmark(b *testing.B, name string, size, clients int) {
	file := filepath.Join(*models, name, modelconfig.FileName)
	text, err := os.ReadFile(file)
	require.NoError(b, err)
	cfg, err := modelconfig.Parse(file, text)
	require.NoError(b, err)
	pool := tensor.NewPool()
	kind := backends()[cfg.GetBackend()]
	if f.isolated {
		pool = memfd(b)
		isolation := isolated.New(isolated.Options{Program: []string{"/proc/self/exe", inChild}, Pool: pool})
		kind, err = isolation.Wrap(cfg.GetBackend(), extension.Process{})
		require.NoError(b, err)
	}
	quiet := slog.New(slog.DiscardHandler)
	m, err := kind.Load(b.Context(), backend.Spec{
		Name: name, Version: 1, Config: cfg.ModelConfig, Dir: filepath.Join(*models, name, "1"), Pool: pool, Log: quiet, CPUs: 2,
	})
	require.NoError(b, err)
	const instances = 2
	counters := stats.NewModel(name, "1", 1)
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NoBatching{}, Slots: instances, Stats: counters})
	g := instance.New(instance.Options{
		Name: name, Version: "1", Config: cfg.ModelConfig, Model: m, Source: source, Slots: slots, Stats: counters, Log: quiet,
		Placements: slices.Repeat([]backend.Placement{{Name: name, Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Instances: instances, Group: &inferencepb.ModelInstanceGroup{}}}, instances),
	})
	require.NoError(b, g.Start(b.Context()))
	defer func() { require.NoError(b, g.Drain(b.Context())) }()
	inputs := buffers(pool, cfg.ModelConfig, size)
	call := func() time.Duration {
		begin := time.Now()
		r := requestOf(pool, cfg.ModelConfig, inputs)
		resp, err := g.Infer(b.Context(), r)
		if err == nil {
			err = resp.Err
			resp.Release()
		}
		if err != nil {
			b.Error(err)
		}
		r.Release()
		return time.Since(begin)
	}
	for range 20 {
		call()
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	latency := make([][]time.Duration, clients)
	for c := range latency {
		latency[c] = make([]time.Duration, 0, b.N)
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			for left.Add(-1) >= 0 {
				latency[c] = append(latency[c], call())
			}
		})
	}
	running.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(latency...)))
	b.ReportMetric(float64(all[len(all)/2])/1e3, "p50-us")
	b.ReportMetric(float64(processorTime(b)-before)/1e3/float64(b.N), "cpu-us/op")
	for _, in := range inputs {
		in.Release()
	}
}

// buffers are the inputs of a model, of one row.
func buffers(pool *tensor.Pool, cfg *inferencepb.ModelConfig, size int) (all []*tensor.Buffer) {
	for _, in := range cfg.GetInput() {
		n := size
		if n == 0 {
			shape := tensor.Shape(in.GetDims())
			bytes, _ := shape.ByteSize(tensor.DataType(in.GetDataType()))
			n = int(bytes)
		}
		b := pool.Get(n)
		clear(b.Bytes())
		all = append(all, b)
	}
	return all
}

func requestOf(pool *tensor.Pool, cfg *inferencepb.ModelConfig, inputs []*tensor.Buffer) *infer.Request {
	r := infer.NewRequest()
	r.Pool, r.ModelName, r.Batch = pool, cfg.GetName(), 1
	for i, b := range inputs {
		c := cfg.GetInput()[i]
		in := r.AddInput()
		in.Name, in.DataType, in.Data = c.GetName(), tensor.DataType(c.GetDataType()), tensor.SliceData(b, 0, b.Len())
		if cfg.GetMaxBatchSize() > 0 {
			in.Shape = append(in.Shape, 1)
		}
		for _, d := range c.GetDims() {
			if d < 0 {
				d = int64(b.Len() / in.DataType.Size())
			}
			in.Shape = append(in.Shape, d)
		}
	}
	return r
}

// processorTime returns the processor time of this process and its running children.
func processorTime(b *testing.B) time.Duration {
	var own syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	total := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // the thread may have ended
		for _, pid := range strings.Fields(string(text)) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil {
				continue
			}
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			for _, ticks := range fields[11:13] {
				n, _ := strconv.Atoi(ticks)
				total += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return total
}
