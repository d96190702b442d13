//go:build cgo && (linux || darwin)

package onnx

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/server/backend"
)

var models = flag.String("models", filepath.Join("..", "..", "..", "models"), "folder that 'triton repo example' wrote")

// resnet50 loads the example model with these parameters.
func resnet50(b *testing.B, parameters map[string]string) *world {
	dir := filepath.Join(*models, "resnet50")
	file := filepath.Join(dir, modelconfig.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		b.Skip("needs the example models: run bin/triton repo example models/, or give -models")
	}
	cfg, err := modelconfig.Parse(file, text)
	require.NoError(b, err)
	cfg.Parameters = map[string]*inferencepb.ModelParameter{}
	for key, value := range parameters {
		cfg.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
	}
	return load(b, backend.Spec{
		Name: "resnet50", Version: 1, Config: cfg.ModelConfig, Dir: filepath.Join(dir, "1"),
		Pool: tensor.NewPool(), Log: quiet(), CPUs: runtime.NumCPU(),
	})
}

// BenchmarkResNet50 puts a batch through Execute beside ONNX Runtime alone, on one
// processor and on all. `make bench` puts the whole server beside the first.
func BenchmarkResNet50(b *testing.B) {
	for _, threads := range []string{"1", "0"} {
		w := resnet50(b, map[string]string{"intra_op_thread_count": threads})
		for _, rows := range []int{1, 8} {
			shape := tensor.Shape{int64(rows), 3, 224, 224}
			batch := w.batchOf(w.request(rows, input{"input", tensor.FP32, shape, make([]byte, rows*3*224*224*4)}))
			name := fmt.Sprintf("threads=%s/rows=%d/", threads, rows)
			b.Run(name+"bare", func(b *testing.B) {
				if err := w.inst.runBare(batch, b.N); err != nil {
					b.Fatal(err)
				}
			})
			b.Run(name+"execute", func(b *testing.B) {
				for b.Loop() {
					if err := execute(batch, w.inst); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
