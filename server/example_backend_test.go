package server_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"triton/pkg/client"
	"triton/pkg/tensor"
	"triton/server"
	"triton/server/backend"
	"triton/server/backend/onnx"
	"triton/server/infer"
)

// double is a backend, its model and its instance: they have no state.
// OUTPUT0 is INPUT0 times two.
type double struct{}

var (
	_ backend.Backend  = double{}
	_ backend.Model    = double{}
	_ backend.Instance = double{}
)

func (double) Load(context.Context, backend.Spec) (backend.Model, error) { return double{}, nil }

func (double) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return double{}, nil
}

func (double) Close() error { return nil }

// Execute sends each request one final response.
func (d double) Execute(_ context.Context, batch *infer.Batch) error {
	batch.InputEnd = infer.Now()
	for _, r := range batch.Requests {
		resp, err := d.answer(r)
		if err != nil {
			r.Fail(err)
			continue
		}
		r.Respond(resp, true)
	}
	batch.OutputStart = infer.Now()
	return nil
}

func (double) answer(r *infer.Request) (*infer.Response, error) {
	in := r.Input("INPUT0")
	out, err := r.Alloc(infer.Output{Name: "OUTPUT0", DataType: tensor.Int32, Size: in.Data.Len(), Filled: true})
	if err != nil {
		return nil, err
	}
	in.Data.CopyTo(out.Bytes())
	for mem := out.Bytes(); len(mem) >= 4; mem = mem[4:] {
		binary.LittleEndian.PutUint32(mem, 2*binary.LittleEndian.Uint32(mem))
	}
	resp := infer.NewResponse()
	resp.Add("OUTPUT0", tensor.Int32, in.Shape, tensor.SegmentData(out))
	return resp, nil
}

// Serve a backend of your own.
func Example_backend() {
	models, err := os.MkdirTemp("", "models")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(models)
	config := `backend: "double"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }`
	_ = os.MkdirAll(filepath.Join(models, "twice", "1"), 0o755)
	_ = os.WriteFile(filepath.Join(models, "twice", "config.pbtxt"), []byte(config), 0o644)

	opts := server.Default()
	opts.Repositories = []string{models}
	opts.Backends = server.NewBackends(onnx.Search{})
	opts.Backends["double"] = double{}
	opts.HTTP.Address, opts.HTTP.Port = "127.0.0.1", 0 // any free port
	opts.GRPC.Allow, opts.Metrics.Allow = false, false
	s, err := server.New(opts)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	<-s.Serving()

	c, err := client.New(client.Options{Protocol: client.HTTP, Address: s.Addresses().HTTP})
	if err != nil {
		panic(err)
	}
	resp, err := c.Infer(ctx, &client.Request{
		Model:  "twice",
		Inputs: []client.Tensor{client.NewTensor("INPUT0", []int64{3}, int32(1), 20, 300)},
	})
	if err != nil {
		panic(err)
	}
	values, err := client.Values[int32](resp.Output("OUTPUT0"))
	fmt.Println(values, err)
	_ = c.Close()
	stop()
	fmt.Println(<-ended)
	// Output:
	// [2 40 600] <nil>
	// <nil>
}
