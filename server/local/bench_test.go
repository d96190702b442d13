package local_test

import (
	"testing"

	"triton/pkg/client"
)

// BenchmarkInfer is one request of 1 KB through a server in this process.
func BenchmarkInfer(b *testing.B) {
	s, end := start()
	defer end()
	req := &client.Request{Model: "echo", Inputs: []client.Tensor{client.NewTensor("INPUT0", []int64{1, 256}, make([]float32, 256)...)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Infer(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
