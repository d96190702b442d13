package client_test

import (
	"context"
	"fmt"

	"triton/pkg/client"
)

// Run inference over HTTP.
func ExampleClient_Infer() {
	address, _, stop := exampleServer()
	defer stop()

	c, err := client.New(client.Options{Protocol: client.HTTP, Address: address})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	resp, err := c.Infer(context.Background(), &client.Request{
		Model:  "echo",
		Inputs: []client.Tensor{client.NewTensor("INPUT0", []int64{3}, float32(0.5), 1, 2)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	values, err := client.Values[float32](resp.Output("OUTPUT0"))
	fmt.Println(values, err)
	// Output: [0.5 1 2] <nil>
}

// Receive many responses to one request, over a gRPC stream.
func ExampleClient_InferStream() {
	_, address, stop := exampleServer()
	defer stop()

	c, err := client.New(client.Options{Protocol: client.GRPC, Address: address})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	stream, err := c.InferStream(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	err = stream.Send(&client.Request{
		Model: "count", ID: "7", EmptyFinal: true,
		Inputs: []client.Tensor{
			client.NewTensor("IN", []int64{2}, int32(10), 20),
			client.NewTensor("DELAY", []int64{2}, uint32(0), 0),
			client.NewTensor("WAIT", []int64{1}, uint32(0)),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		resp, err := stream.Recv()
		if err != nil || resp.Final() {
			fmt.Println("end", err)
			return
		}
		values, err := client.Values[int32](resp.Output("OUT"))
		fmt.Println(resp.ID, values, err)
	}
	// Output:
	// 7 [10] <nil>
	// 7 [20] <nil>
	// end <nil>
}

// Read the metadata of a server and its models.
func ExampleClient_ModelMetadata() {
	address, _, stop := exampleServer()
	defer stop()

	c, err := client.New(client.Options{Address: address})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	ctx := context.Background()
	ready, err := c.Ready(ctx)
	fmt.Println(ready, err)
	model, err := c.ModelMetadata(ctx, "echo", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range model.GetInputs() {
		fmt.Println(in.GetName(), in.GetDatatype(), in.GetShape())
	}
	// Output:
	// true <nil>
	// INPUT0 FP32 [-1]
}

// Call a server that requires client certificates.
func ExampleTLSFiles() {
	config, err := client.TLSFiles{Root: "ca.pem", Cert: "me.pem", Key: "me.key"}.Config()
	if err != nil {
		fmt.Println("no certificates:", err)
		return
	}
	c, err := client.New(client.Options{Protocol: client.GRPC, Address: "triton.example:8001", TLS: config})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
}
