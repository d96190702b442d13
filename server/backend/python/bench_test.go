package python

import (
	"fmt"
	"net"
	"testing"

	"triton/pkg/tensor"
	"triton/server/backend/child"
	"triton/server/infer"
)

const identity = `
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([
            pb_utils.Tensor("OUT", pb_utils.get_input_tensor_by_name(r, "IN").as_numpy())]) for r in requests]
`

// BenchmarkExecute is a batch's way to a child and back. Allocations are those of this
// process.
func BenchmarkExecute(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 16 << 20} {
		for _, rows := range []int{1, 8} {
			if size*rows > 32<<20 {
				continue
			}
			b.Run(fmt.Sprintf("%dKB/batch=%d", size>>10, rows), func(b *testing.B) {
				h := newHarness(b, identity)
				if err := h.load(); err != nil {
					b.Fatal(err)
				}
				benchmarkBatches(b, h, size, rows)
			})
		}
	}
}

func benchmarkBatches(b *testing.B, h *harness, size, rows int) {
	data := tensor.NewData(tensor.HeapBuffer(make([]byte, size)))
	var batch infer.Batch
	b.SetBytes(int64(size * rows))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		batch.Reset()
		for range rows {
			batch.Add(h.request(tensor.FP32, tensor.Shape{int64(size / 4)}, nil))
			batch.Requests[len(batch.Requests)-1].Inputs[0].Data = data.Clone()
		}
		b.StartTimer()
		if err := h.instance.Execute(b.Context(), &batch); err != nil {
			b.Fatal(err)
		}
		for _, r := range batch.Requests {
			resp, err := r.Wait(b.Context())
			if err != nil || resp.Err != nil {
				b.Fatal(err, resp.Err)
			}
			resp.Release()
			r.Release()
		}
	}
}

// BenchmarkFrames writes the frame of a batch and reads the frame of its result, without a
// child.
func BenchmarkFrames(b *testing.B) {
	h := newHarness(b, identity)
	if err := h.load(); err != nil {
		b.Fatal(err)
	}
	in := h.instance.(*instance)
	r := h.request(tensor.FP32, tensor.Shape{256}, floats(256))
	defer r.Release()
	b.Run("request", func(b *testing.B) {
		var m child.Message
		b.ReportAllocs()
		for b.Loop() {
			if err := in.put(m.Begin(frameExecute), r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("response", func(b *testing.B) {
		body := resultBody(b, floats(256))
		b.ReportAllocs()
		for b.Loop() {
			res := in.result(child.NewReader(body))
			if res.response == nil || res.response.Err != nil {
				b.Fatal("no response")
			}
			res.release()
		}
	})
}

// resultBody is what a child answers to one request, as it is received.
func resultBody(t testing.TB, data []byte) []byte {
	t.Helper()
	var m child.Message
	m.Begin(frameResult).Uint8(resultResponse)
	m.Uint32(0)
	m.Uint32(1)
	putHead(&m, "OUT", tensor.FP32, tensor.Shape{int64(len(data) / 4)})
	m.Uint32(inline)
	m.Uint64(0)
	m.Uint64(uint64(len(data)))
	m.Raw(data)
	from, to := net.Pipe()
	defer from.Close()
	defer to.Close()
	go child.NewConn(from, from).Send(&m)
	f, err := child.NewConn(to, to).Receive()
	if err != nil {
		t.Fatal(err)
	}
	return f.Body
}
