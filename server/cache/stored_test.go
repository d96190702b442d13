package cache

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

func sampleResponse() *infer.Response {
	r := infer.NewResponse()
	r.Parameters = append(r.Parameters,
		kserve.Parameter{Name: "b", Kind: kserve.ParamBool, Bool: true}, kserve.Parameter{Name: "i", Kind: kserve.ParamInt, Int: -5},
		kserve.Parameter{Name: "u", Kind: kserve.ParamUint, Uint: 1 << 63}, kserve.Parameter{Name: "d", Kind: kserve.ParamDouble, Double: 1.5},
		kserve.Parameter{Name: "", Kind: kserve.ParamString, String: "text"})
	var two tensor.Data
	half := tensor.HeapBuffer([]byte{1, 2, 3, 4})
	two.Append(half, 0, 2)
	two.Append(half, 2, 2)
	half.Release()
	r.Add("A", tensor.Int16, tensor.Shape{2}, two)
	r.Add("S", tensor.Bytes, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer([]byte{1, 0, 0, 0, 'x'})))
	r.Add("scalar", tensor.FP32, nil, tensor.NewData(tensor.HeapBuffer(make([]byte, 4))))
	r.Add("empty", tensor.FP64, tensor.Shape{0, 3}, tensor.Data{})
	return r
}

func TestStoredForm(t *testing.T) {
	t.Parallel()
	r := sampleResponse()
	b := AppendStored(nil, r)
	require.Len(t, b, StoredSize(r))
	got := infer.NewResponse()
	require.NoError(t, DecodeStored(tensor.HeapBuffer(b), got))
	require.Equal(t, r.Parameters, got.Parameters)
	require.Equal(t, b, AppendStored(nil, got))
	require.Len(t, got.Outputs, 4)
	require.Equal(t, tensor.Shape{2}, got.Output("A").Shape)
	got.Release()
	for i := range b { // any damage is seen
		bad := append([]byte(nil), b...)
		bad[i] ^= 0x40
		into := infer.NewResponse()
		require.ErrorIs(t, DecodeStored(tensor.HeapBuffer(bad), into), errStoredFormat, "byte %d", i)
		require.ErrorIs(t, DecodeStored(tensor.HeapBuffer(b[:i]), infer.NewResponse()), errStoredFormat)
	}
	r.Release()
}

// sealed returns a body with the right ends.
func sealed(body []byte) []byte {
	b := append([]byte(storedMagic), body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// FuzzDecodeStored: no value causes a panic, and every decoded response is well-formed.
func FuzzDecodeStored(f *testing.F) {
	r := sampleResponse()
	b := AppendStored(nil, r)
	r.Release()
	f.Add(b[len(storedMagic) : len(b)-4])
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		value := sealed(body)
		into := infer.NewResponse()
		defer into.Release()
		if DecodeStored(tensor.HeapBuffer(value), into) != nil {
			return
		}
		require.Equal(t, value, AppendStored(nil, into))
	})
}

func BenchmarkStoredForm(b *testing.B) {
	r := sampleResponse()
	b.ReportAllocs()
	for b.Loop() {
		value := AppendStored(nil, r)
		into := infer.NewResponse()
		if DecodeStored(tensor.HeapBuffer(value), into) != nil {
			b.Fatal()
		}
		into.Release()
	}
}
