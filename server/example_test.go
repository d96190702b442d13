package server_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"triton/server"
	"triton/server/backend/onnx"
)

// A server is made from options, runs until its context ends, and then finishes
// the requests that it has.
func Example() {
	models, err := os.MkdirTemp("", "models")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(models)
	config := `backend: "identity"
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }`
	_ = os.MkdirAll(filepath.Join(models, "echo", "1"), 0o755)
	_ = os.WriteFile(filepath.Join(models, "echo", "config.pbtxt"), []byte(config), 0o644)

	opts := server.Default()
	opts.Repositories = []string{models}
	opts.Backends = server.NewBackends(onnx.Search{})
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

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + s.Addresses().HTTP + "/v2/models/echo/ready")
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode)
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200
	// <nil>
}
