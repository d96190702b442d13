package perf_test

import (
	"context"
	"fmt"
	"time"

	"triton/perf"
	"triton/perf/load/loadtest"
	"triton/pkg/client"
	"triton/pkg/client/lane"
)

// Measure a model at two concurrencies.
func ExampleRun() {
	server, err := loadtest.StartHTTP("127.0.0.1:0") // in place of a real server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	config := perf.DefaultConfig(loadtest.Model)
	config.Range = perf.Range{Start: 1, End: 2, Step: 1}
	config.Interval = 50 * time.Millisecond
	config.Stability = 1000 // an example has no time to become stable
	report, err := perf.Run(context.Background(), config, perf.Deps{
		Dial: func(context.Context) (perf.Target, error) {
			return perf.Connect(lane.Options{Options: client.Options{Protocol: client.HTTP, Address: server.Address}})
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, level := range report.Levels {
		fmt.Println(level.Load.Concurrency(), level.Throughput > 0, level.Latency(99) > 0)
	}
	// Output:
	// 1 true true
	// 2 true true
}
