package framework

import (
	"archive/zip"
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// The readers of foreign bytes do not panic and do not hang.

func FuzzOpenVINO(f *testing.F) {
	f.Add([]byte(`<net><layers><layer id="0" type="Parameter"><data shape="?,2" element_type="f32"/></layer><layer id="1" type="Result"><input><port precision="FP32"><dim>2</dim></port></input></layer></layers></net>`))
	f.Add([]byte(`</net>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if net, err := readIR(bytes.NewReader(data)); err == nil && (len(net.inputs) == 0 || len(net.outputs) == 0) {
			t.Fatal("no error for a model without tensors")
		}
	})
}

func FuzzSavedModel(f *testing.F) {
	f.Add([]byte("\x08\x01\x12\x02\x0a\x00"))
	f.Add([]byte("\x12\x11\x0a\x07\x22\x05serve\x2a\x06\x0a\x01a\x12\x01\x0a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		graphs, err := readSavedModel(bufio.NewReader(bytes.NewReader(data)))
		if err == nil {
			_ = (&described{}).choose(graphs)
		}
	})
}

func FuzzTorchScript(f *testing.F) {
	f.Add([]byte("\x80\x02c__torch__\nNet\n"), "class Net(Module):\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    return x\n")
	f.Add([]byte("\x80\x02c__torch__\nNet\n"), "class Net(Module):\n  def forward(")
	f.Fuzz(func(t *testing.T, pickle []byte, code string) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range map[string]string{"n/data.pkl": string(pickle), "n/code/__torch__.py": code} {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := strings.NewReader(text).WriteTo(w); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readTorchScript(r); err == nil && len(got.inputs) == 0 {
			t.Fatal("no error for a function without inputs")
		}
	})
}
