//go:build cgo && linux

package plugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/backend/plugin"
	"triton/server/infer"
)

// BenchmarkIdentity is one execution of one request with 1 KB: of a library, and of the
// backend of the program that returns its input.
func BenchmarkIdentity(b *testing.B) {
	const text = `name: "m" max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
instance_group { kind: KIND_CPU }`
	directory := b.TempDir()
	compile(b, "identity.c", directory+"/libtriton_i.so", "-O2")
	for name, impl := range map[string]backend.Backend{
		"library": plugin.New(plugin.Location{Name: "identity", Library: directory + "/libtriton_i.so"}),
		"builtin": builtin.Identity{},
	} {
		b.Run(name, func(b *testing.B) {
			pool := tensor.NewPool()
			config, err := modelconfig.Parse("config.pbtxt", []byte(text))
			require.NoError(b, err)
			config.Normalize()
			spec := backend.Spec{Name: "m", Version: 1, Config: config.ModelConfig, Dir: directory + "/m/1", Pool: pool, Settings: map[string]string{}}
			m, err := impl.Load(b.Context(), spec)
			require.NoError(b, err)
			in, err := m.NewInstance(b.Context(), backend.Placement{Name: "m_0", Kind: inferencepb.ModelInstanceGroup_KIND_CPU, Group: config.GetInstanceGroup()[0]})
			require.NoError(b, err)
			sink := dropping{}
			batch := &infer.Batch{}
			b.ReportAllocs()
			for b.Loop() {
				r := infer.NewRequest()
				r.ModelName, r.Sink, r.Pool, r.Batch = "m", sink, pool, 1
				t := r.AddInput()
				t.Name, t.DataType, t.Shape, t.Data = "INPUT0", tensor.FP32, append(t.Shape, 1, 256), tensor.NewData(pool.Get(1024))
				r.Move(infer.Decoded, infer.Executing)
				batch.Add(r)
				if err := in.Execute(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				batch.Reset()
				r.Release()
				r.Release()
			}
			require.NoError(b, in.Close())
			require.NoError(b, m.Close())
			require.Zero(b, pool.Outstanding())
		})
	}
}

type dropping struct{}

func (dropping) Send(resp *infer.Response, _ bool) { resp.Release() }
