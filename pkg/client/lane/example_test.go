package lane_test

import (
	"context"
	"fmt"

	"triton/perf/load/loadtest"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Send a request many times that is encoded once.
func Example() {
	server, err := loadtest.StartHTTP("127.0.0.1:0") // in place of a real one
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()

	c, err := lane.New(lane.Options{Options: client.Options{Address: server.Address}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	req := &kserve.Request{ModelName: loadtest.Model}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, tensor.Shape{1, 16}
	in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 64)))
	prepared, err := c.Prepare(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer prepared.Release()

	ctx := context.Background()
	l, err := c.Dial(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = l.Close() }()
	var x lane.Exchange
	for range 100 {
		if err := l.Do(ctx, prepared, &x); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(server.Requests(), x.End > x.Start)
	// Output: 100 true
}
