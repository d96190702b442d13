package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"triton/pkg/client"
	"triton/server"
	"triton/server/backend/onnx"
	"triton/server/local"
)

// folderOfModels writes a repository with two models: echo, and count, which is decoupled.
func folderOfModels() string {
	folder, err := os.MkdirTemp("", "models")
	err = errors.Join(err,
		model(folder, "echo", `backend: "identity"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] label_filename: "labels.txt" }`),
		os.WriteFile(filepath.Join(folder, "echo", "labels.txt"), []byte("cat\ndog\n"), 0o600),
		model(folder, "count", `backend: "repeat"
model_transaction_policy { decoupled: true }
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }, { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]`))
	if err != nil {
		panic(err)
	}
	return folder
}

func model(folder, name, config string) error {
	return errors.Join(
		os.MkdirAll(filepath.Join(folder, name, "1"), 0o755),
		os.WriteFile(filepath.Join(folder, name, "config.pbtxt"), []byte(config), 0o600))
}

// start starts a server with the models of folderOfModels.
func start() (s *local.Server, end func()) {
	folder := folderOfModels()
	o := local.Options()
	o.Repositories = []string{folder}
	o.Backends = server.NewBackends(onnx.Search{})
	s, err := local.Start(context.Background(), o)
	if err != nil {
		panic(err)
	}
	return s, func() {
		if err := errors.Join(s.Close(), os.RemoveAll(folder)); err != nil {
			fmt.Println(err)
		}
	}
}

// Models run in this process, and no port is open.
func Example() {
	folder := folderOfModels()
	defer os.RemoveAll(folder)
	o := local.Options()
	o.Repositories = []string{folder}
	o.Backends = server.NewBackends(onnx.Search{})
	s, err := local.Start(context.Background(), o)
	if err != nil {
		panic(err)
	}
	resp, err := s.Infer(context.Background(), &client.Request{
		Model:  "echo",
		Inputs: []client.Tensor{client.NewTensor("INPUT0", []int64{1, 3}, float32(0.5), 1, 2)},
	})
	if err != nil {
		panic(err)
	}
	values, err := client.Values[float32](resp.Output("OUTPUT0"))
	fmt.Println(values, err)
	fmt.Println(s.Close())
	// Output:
	// [0.5 1 2] <nil>
	// <nil>
}

// A decoupled model sends any number of responses.
func ExampleServer_Responses() {
	s, end := start()
	defer end()
	for resp, err := range s.Responses(context.Background(), &client.Request{
		Model: "count",
		Inputs: []client.Tensor{
			client.NewTensor("IN", []int64{3}, int32(4), 5, 6),
			client.NewTensor("DELAY", []int64{3}, uint32(0), 0, 0),
			client.NewTensor("WAIT", []int64{1}, uint32(0)),
		},
	}) {
		if err != nil {
			panic(err)
		}
		value, _ := client.Values[int32](resp.Output("OUT"))
		fmt.Println(value)
	}
	// Output:
	// [4]
	// [5]
	// [6]
}
