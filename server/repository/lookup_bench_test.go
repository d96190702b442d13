package repository

import (
	"testing"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// BenchmarkLookup measures what a frontend does for each request: it finds and retains a
// version, alone and with a request that runs on the caller's goroutine.
func BenchmarkLookup(b *testing.B) {
	r, _, err := open(b, nil, tree(b, map[string]string{
		"m/config.pbtxt": identity + "version_policy { all { } }", "m/1/": "", "m/2/": "", "n/config.pbtxt": identity, "n/1/": "",
	}))
	if err != nil {
		b.Fatal(err)
	}
	for name, version := range map[string]string{"newest": "", "named": "1"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m, err := r.Model("m", version)
				if err != nil {
					b.Fatal(err)
				}
				m.Release()
			}
		})
	}
	b.Run("infer", func(b *testing.B) {
		b.ReportAllocs()
		data, ctx := tensor.HeapBuffer(make([]byte, 16)), b.Context()
		for b.Loop() {
			m, err := r.Model("m", "")
			if err != nil {
				b.Fatal(err)
			}
			req := infer.NewRequest()
			x := req.AddInput()
			x.Name, x.DataType, x.Shape = "INPUT0", tensor.Int32, append(x.Shape, 4)
			x.Data = tensor.SliceData(data, 0, 16)
			resp, err := m.Infer(ctx, req)
			if err != nil {
				b.Fatal(err)
			}
			resp.Release()
			req.Release()
			m.Release()
		}
	})
}
