package fake_test

import (
	"context"
	"fmt"

	"triton/pkg/client"
	"triton/pkg/status"
	"triton/server/fake"
)

// A test of a program that calls a model: the second call finds the model overloaded. In a test,
// fake.New(t, ...) also closes the server.
func Example() {
	calls := 0
	s, err := fake.Start(context.Background(), map[string]fake.Model{"scorer": {
		Config: `input { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "SCORE" data_type: TYPE_FP32 dims: [ 1 ] }`,
		Answer: fake.Unary(func(_ context.Context, req *client.Request) (*client.Response, error) {
			if calls++; calls == 2 {
				return nil, status.New(status.Unavailable, "Exceeds maximum queue size")
			}
			return &client.Response{Outputs: []client.Tensor{client.NewTensor("SCORE", []int64{1}, float32(0.9))}}, nil
		}),
	}})
	if err != nil {
		panic(err)
	}
	defer s.Close()

	c, err := client.New(client.Options{Protocol: client.HTTP, Address: s.HTTP()})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	for range 2 {
		resp, err := c.Infer(context.Background(), &client.Request{
			Model: "scorer", Inputs: []client.Tensor{client.NewStrings("TEXT", []int64{1}, "fine")},
		})
		if err != nil {
			fmt.Println(err)
			continue
		}
		score, _ := client.Values[float32](resp.Output("SCORE"))
		fmt.Println(score)
	}
	text, _ := client.Strings(&s.Requests("scorer")[0].Inputs[0])
	fmt.Println(text)
	// Output:
	// [0.9]
	// Exceeds maximum queue size
	// [fine]
}
