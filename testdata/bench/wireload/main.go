// Command wireload puts an identity model under load: every request is encoded
// once and sent as the same bytes over and over. It sends tensors as JSON, as binary
// data, over gRPC and in shared memory, and prints the figures as one line of JSON.
// `triton perf` sends neither JSON tensors nor shared memory
// (docs/adr/0017-ui-and-clients.md).
//
//	wireload -http 127.0.0.1:8000 -grpc 127.0.0.1:8001 -kind binary -size 1024 -concurrency 8
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"
)

// settings are the flags.
type settings struct {
	http, grpc, model string
	kind              string
	size              int
	concurrency       int
	share             int
	responses         int
	warmup, window    time.Duration
}

// caller sends one request after another and checks the responses.
type caller interface {
	// call is one request; check compares the whole response.
	call(check bool) error
}

// result is the printed result; latencies are in microseconds.
type result struct {
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	Calls     int     `json:"calls"` // with those before the window
}

func main() {
	log.SetFlags(0)
	var s settings
	flag.StringVar(&s.http, "http", "127.0.0.1:8000", "where the server speaks HTTP")
	flag.StringVar(&s.grpc, "grpc", "127.0.0.1:8001", "where the server speaks gRPC")
	flag.StringVar(&s.model, "model", "identity", "the `name` of a model that returns INPUT0, FP32 [ -1 ] in a batch, as OUTPUT0")
	flag.StringVar(&s.kind, "kind", "binary", "json, binary, grpc, shm-http, shm-grpc or stream")
	flag.IntVar(&s.size, "size", 1024, "`bytes` of the tensor")
	flag.IntVar(&s.concurrency, "concurrency", 1, "requests at a time")
	flag.IntVar(&s.share, "share", 6, "gRPC: requests at a time on one connection, as in NVIDIA's client library")
	flag.IntVar(&s.responses, "responses", 1, "stream: responses to a request")
	flag.DurationVar(&s.warmup, "warmup", 300*time.Millisecond, "time before the window")
	flag.DurationVar(&s.window, "window", 2*time.Second, "time measured")
	flag.Parse()
	r, err := s.run()
	if err != nil {
		log.Fatal("wireload: ", err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		log.Fatal(err)
	}
}

func (s *settings) run() (*result, error) {
	callers, done, err := s.callers()
	defer done()
	if err != nil {
		return nil, err
	}
	for _, c := range callers {
		if err := c.call(true); err != nil {
			return nil, fmt.Errorf("first request: %w", err)
		}
	}
	begin := time.Now().Add(s.warmup)
	end := begin.Add(s.window)
	runs := make([]run, len(callers))
	errs := make([]error, len(callers))
	var running sync.WaitGroup
	for i, c := range callers {
		running.Go(func() { runs[i], errs[i] = repeat(c, begin, end) })
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return summary(runs), nil
}

// run is the measurement of one caller: the time of each call and of all together.
type run struct {
	took []time.Duration
	all  time.Duration
	done int // calls, with those before the window
}

// enough is the least number of measured calls of a caller.
const enough = 3

// repeat calls until the end and, if needed, until enough calls are measured. The
// measurement starts with the first call that begins in the window.
func repeat(c caller, begin, end time.Time) (run, error) {
	r := run{took: make([]time.Duration, 0, 1<<16)}
	var first time.Time
	for at := time.Now(); at.Before(end) || len(r.took) < enough; {
		if err := c.call(false); err != nil {
			return r, err
		}
		r.done++
		now := time.Now()
		switch {
		case !first.IsZero():
			r.took = append(r.took, now.Sub(at))
			r.all = now.Sub(first)
		case now.After(begin):
			first = now
		}
		at = now
	}
	return r, nil
}

func summary(runs []run) *result {
	var all []time.Duration
	perSecond := 0.0
	calls := len(runs) // the checked ones
	for _, r := range runs {
		calls += r.done
		all = append(all, r.took...)
		perSecond += float64(len(r.took)) / r.all.Seconds()
	}
	slices.Sort(all)
	at := func(share float64) float64 { return float64(all[int(share*float64(len(all)-1))].Nanoseconds()) / 1e3 }
	return &result{PerSecond: perSecond, P50: at(0.5), P99: at(0.99), Calls: calls}
}
