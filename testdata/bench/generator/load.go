package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"syscall"
	"time"

	perf "triton/perf/load"
	"triton/perf/load/loadtest"
	"triton/pkg/client"
	"triton/pkg/client/lane"
)

// figures are the printed result: latencies in microseconds, CPU time of this process.
type figures struct {
	PerSecond float64 `json:"per_second"`
	Requests  uint64  `json:"requests"` // with those before the window
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	CPU       float64 `json:"cpu_us"`
	User      float64 `json:"user_us"`
	Switches  float64 `json:"switches"` // of the context, for a request
}

func load(args []string) error {
	f := flag.NewFlagSet("load", flag.ExitOnError)
	address := f.String("address", "", "`address` of the server")
	protocol := f.String("protocol", "http", "http or grpc")
	concurrency := f.Int("concurrency", 64, "requests at a time")
	window := f.Duration("window", 2*time.Second, "time measured")
	profile := f.String("profile", "", "`file` for a CPU profile")
	_ = f.Parse(args)
	p, err := client.ParseProtocol(*protocol)
	if err != nil {
		return err
	}
	defer perf.RelaxCollector()()
	c, err := lane.New(lane.Options{Options: client.Options{Protocol: p, Address: *address}})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	request, err := c.Prepare(loadtest.Request())
	if err != nil {
		return err
	}
	defer request.Release()
	g := perf.NewClosed(context.Background(), perf.Options{Dialer: c, Source: &perf.Steps{Prepared: []*lane.Prepared{request}, Batch: 1}})
	defer g.Close()
	<-g.Start(perf.Level{Concurrency: *concurrency, Total: 100 * *concurrency}) // connect, and warm up
	g.Start(perf.Level{Concurrency: *concurrency})
	time.Sleep(200 * time.Millisecond)
	if *profile != "" {
		out, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer func() { _ = out.Close() }()
		if err := pprof.StartCPUProfile(out); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	r, err := measureWindow(g, *window)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// measureWindow collects the requests of a window. Like a run of `triton perf` it does nothing
// else meanwhile.
func measureWindow(g perf.Generator, window time.Duration) (*figures, error) {
	var before, after syscall.Rusage
	g.Collect(nil, lane.Now())
	begin := time.Now()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return nil, err
	}
	time.Sleep(window)
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	b := g.Collect(nil, lane.Now())
	if err := g.Err(); err != nil {
		return nil, fmt.Errorf("%w %v", err, g.Failures())
	}
	if len(b.Samples) == 0 {
		return nil, fmt.Errorf("no request was answered within %s", window)
	}
	latencies := make([]int64, len(b.Samples))
	for i, s := range b.Samples {
		latencies[i] = s.Latency
	}
	r := newFigures(latencies, took, &before, &after)
	r.Requests = b.Started
	return &r, nil
}
