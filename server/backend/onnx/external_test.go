//go:build cgo && (linux || darwin)

package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/inferencepb"
	"triton/pkg/onnxmodel"
	"triton/server/backend"
)

// message encodes a protobuf message of fields with numbers.
func protoMessage(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
		}
	}
	return b
}

// externalModel is y = x * w for vectors of 8 elements; w is in a file.
func externalModel(location string) []byte {
	dims := func(batch string) []byte {
		return protoMessage(1, protoMessage(2, batch), 1, protoMessage(1, 8))
	}
	value := func(name string) []byte {
		return protoMessage(1, name, 2, protoMessage(1, protoMessage(1, 1, 2, dims("batch"))))
	}
	weight := protoMessage(1, 8, 1, 8, 2, 1, 8, "w", 13, protoMessage(1, "location", 2, location), 14, 1)
	node := protoMessage(1, "x", 1, "w", 2, "y", 4, "MatMul")
	graph := protoMessage(1, node, 2, "g", 5, weight, 11, value("x"), 12, value("y"))
	return protoMessage(1, 8, 7, graph, 8, protoMessage(2, 17))
}

func TestExternalData(t *testing.T) {
	t.Parallel()
	old := newFakeLibrary(t, "17")
	weights := make([]float32, 64)
	for i := range 8 {
		weights[9*i] = 2
	}
	specWith := func(location string) backend.Spec {
		spec := specOf(t, identity(onnxmodel.Float, "batch", 8), 8)
		require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "model.onnx"), externalModel(location), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "in.bin"), floats(weights...), 0o600))
		require.NoError(t, os.Symlink("in.bin", filepath.Join(spec.Dir, "alias.bin")))
		require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "..", filepath.Base(spec.Dir)+".bin"), floats(weights...), 0o600))
		require.NoError(t, os.Symlink("..", filepath.Join(spec.Dir, "up")))
		return spec
	}
	for _, library := range []string{"", old.path} {
		prepare := func(location string) backend.Spec {
			spec := specWith(location)
			if library != "" {
				spec = with(t, spec, param("onnxruntime_library", library))
			}
			return spec
		}
		for _, location := range []string{"in.bin", "alias.bin"} {
			load(t, prepare(location)).double(8)
		}
		for _, location := range []string{"../%.bin", "up/%.bin", "/%.bin"} {
			spec := prepare("in.bin")
			at := filepath.Base(spec.Dir)
			name := location[:len(location)-len("%.bin")] + at + ".bin"
			if location[0] == '/' {
				name = spec.Dir + ".bin"
			}
			require.NoError(t, os.WriteFile(filepath.Join(spec.Dir, "model.onnx"), externalModel(name), 0o600))
			err := loadError(t, spec, inferencepb.ModelInstanceGroup_KIND_CPU)
			if library == "" {
				require.ErrorContains(t, err, "External data path validation failed", name)
			} else {
				require.EqualError(t, err, "the external data '"+name+"' of the model file '"+filepath.Join(spec.Dir, "model.onnx")+
					"' is outside of the model's folder: put the file beside the model")
			}
		}
	}

	// The content of the file comes from memory, and the weights from the folder.
	spec := specWith("in.bin")
	search := Search{Getenv: os.Getenv, Directory: filepath.Join("..", "..", "..")}
	m, err := NewWithReader(search, os.ReadFile).Load(t.Context(), spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	w := &world{TB: t, spec: spec, model: m}
	w.inst = w.instance()
	w.double(8)
}
