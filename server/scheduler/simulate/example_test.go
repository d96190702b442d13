package simulate_test

import (
	"fmt"
	"strings"
	"time"

	"triton/pkg/modelconfig"
	"triton/server/scheduler/simulate"
)

// What a recorded trace would do with another configuration.
func Example() {
	trace, err := simulate.ReadTrace(strings.NewReader(`at_us,rows
0,1
100,1
300,2
5000,1
`))
	if err != nil {
		panic(err)
	}
	config, err := modelconfig.Parse("config.pbtxt", []byte(`
		name: "m" backend: "onnxruntime" max_batch_size: 4
		dynamic_batching { max_queue_delay_microseconds: 1000 }`))
	if err != nil {
		panic(err)
	}
	config.Normalize()
	result := simulate.Run(simulate.Model{
		Config: config.ModelConfig, Instances: 1,
		Cost: simulate.Linear(2*time.Millisecond, 100*time.Microsecond),
	}, trace)
	for _, b := range result.Batches {
		fmt.Printf("%v: rows %d, requests %v, until %v (%v)\n", b.Start, b.Rows, b.Members, b.End, b.Why)
	}
	// Output:
	// 300µs: rows 4, requests [0 1 2], until 2.7ms (full)
	// 6ms: rows 1, requests [3], until 8.1ms (delay)
}
