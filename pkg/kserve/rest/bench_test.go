package rest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

const binaryText = `{"inputs":[{"name":"INPUT0","shape":[1,256],"datatype":"FP32","parameters":{"binary_data_size":1024}}],` +
	`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`

// numbersText is a request of about size bytes of numbers.
func numbersText(kind string, size int) string {
	rnd := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	n := 0
	for ; b.Len() < size; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		switch kind {
		case "FP32":
			b.WriteString(strconv.FormatFloat(float64(float32(rnd.NormFloat64())), 'g', -1, 64))
		case "short":
			b.WriteString(strconv.FormatFloat(float64(rnd.IntN(100000))/1000, 'g', -1, 64))
		case "INT32":
			b.WriteString(strconv.Itoa(rnd.IntN(1 << 20)))
		}
	}
	datatype := kind
	if kind == "short" {
		datatype = "FP32"
	}
	return fmt.Sprintf(`{"inputs":[{"name":"INPUT0","shape":[%d],"datatype":"%s","data":[%s]}]}`, n, datatype, b.String())
}

type decodeBench struct {
	pool *tensor.Pool
	d    Decoder
	body *tensor.Buffer
	req  kserve.Request
	n    int
}

func newDecodeBench(body string, headerLen int) *decodeBench {
	b := &decodeBench{pool: tensor.NewPool(), n: headerLen}
	b.d.Pool = b.pool
	b.body = b.pool.Get(len(body))
	copy(b.body.Bytes(), body)
	return b
}

func (b *decodeBench) run(t testing.TB) {
	if err := b.d.DecodeRequest(&b.req, b.body, b.n); err != nil {
		t.Fatal(err)
	}
	b.req.Reset()
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name, text, tail string
	}{
		{"binary1KB", binaryText, strings.Repeat("x", 1024)},
		{"FP32-1KB", numbersText("FP32", 1<<10), ""},
		{"FP32-1MB", numbersText("FP32", 1<<20), ""},
		{"short-1MB", numbersText("short", 1<<20), ""},
		{"INT32-1MB", numbersText("INT32", 1<<20), ""},
		{"BYTES-1MB", `{"inputs":[{"name":"INPUT0","shape":[1],"datatype":"BYTES","data":["` + strings.Repeat("abc def ", 1<<17) + `"]}]}`, ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := newDecodeBench(c.text+c.tail, len(c.text))
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				d.run(b)
			}
		})
	}
}

func TestDecodeAllocates(t *testing.T) {
	for _, c := range []struct{ text, tail string }{
		{binaryText, strings.Repeat("x", 1024)},
		{numbersText("FP32", 1<<10), ""},
		{numbersText("INT32", 1<<16), ""},
		{`{"inputs":[{"name":"A","shape":[2],"datatype":"BYTES","data":["a","\u00e9"]}],"parameters":{"priority":1}}`, ""},
	} {
		d := newDecodeBench(c.text+c.tail, len(c.text))
		d.run(t)
		require.Zero(t, testing.AllocsPerRun(100, func() { d.run(t) }), "%.40s", c.text)
	}
}

// response is one output of n FP32 values.
func response(n int) *kserve.Response {
	data := make([]byte, 0, 4*n)
	rnd := rand.New(rand.NewPCG(1, 1))
	for range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(rnd.NormFloat64())))
	}
	r := &kserve.Response{ModelName: "m", ModelVersion: "1"}
	o := r.AddOutput()
	o.Name, o.DataType, o.Shape = "OUTPUT0", tensor.FP32, tensor.Shape{int64(n)}
	o.Data = tensor.NewData(tensor.HeapBuffer(data))
	return r
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range []struct {
		name   string
		n      int
		binary bool
	}{{"binary1KB", 256, true}, {"FP32-256", 256, false}, {"FP32-50000", 50000, false}} {
		b.Run(c.name, func(b *testing.B) {
			resp, req := response(c.n), &kserve.Request{BinaryOutput: c.binary}
			var e Encoder
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				text, _, _, err := e.EncodeResponse(dst[:0], resp, req)
				if err != nil {
					b.Fatal(err)
				}
				dst = text
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

func TestEncodeAllocates(t *testing.T) {
	resp := response(64)
	for _, binary := range []bool{true, false} {
		req := &kserve.Request{BinaryOutput: binary}
		var e Encoder
		dst := make([]byte, 0, 4096)
		run := func() {
			if _, _, _, err := e.EncodeResponse(dst[:0], resp, req); err != nil {
				t.Fatal(err)
			}
		}
		run()
		require.Zero(t, testing.AllocsPerRun(100, run))
	}
}
