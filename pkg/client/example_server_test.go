package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"triton/server"
	"triton/server/backend/onnx"
)

// exampleServer serves two models, echo and count, until stop is called.
func exampleServer() (httpAddress, grpcAddress string, stop func()) {
	models, err := os.MkdirTemp("", "models")
	if err == nil {
		err = errors.Join(
			writeModel(models, "echo", `backend: "identity"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }`),
			writeModel(models, "count", repeatModel))
	}
	if err != nil {
		panic(err)
	}
	o := server.Default()
	for _, e := range []*server.Endpoint{&o.HTTP.Endpoint, &o.GRPC.Endpoint, &o.Metrics.Endpoint} {
		e.Address, e.Port = "127.0.0.1", 0
	}
	o.Repositories, o.Log, o.Backends = []string{models}, slog.New(slog.DiscardHandler), server.NewBackends(onnx.Search{})
	s, err := server.New(o)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Serving():
	case err := <-ended:
		panic(err)
	}
	return s.Addresses().HTTP, s.Addresses().GRPC, func() {
		cancel()
		if err := errors.Join(<-ended, os.RemoveAll(models)); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Println(err)
		}
	}
}

func writeModel(models, name, config string) error {
	dir := filepath.Join(models, name)
	return errors.Join(
		os.MkdirAll(filepath.Join(dir, "1"), 0o755),
		os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(config), 0o600))
}
