package scaffold

import (
	"archive/zip"
	"bufio"
	"bytes"
	"io"
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

func FuzzTrees(f *testing.F) {
	f.Add([]byte("{L\x00\x00\x00\x00\x00\x00\x00\x07learner{i\x13learner_model_param{i\x0bnum_featureSi\x015}}}"))
	f.Add([]byte("{L\x00\x00\x00\x00\x00\x00\x00\x01a[$L#L\x7f\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("{$S#i\x01i\x01ai\x01b"))
	f.Add([]byte(`{"learner":{"learner_model_param":{"num_feature":"5","num_class":"3"}}}`))
	f.Add([]byte("tree\nnum_class=3\nmax_feature_idx=4\nobjective=multiclass num_class:3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func(io.Reader) (ensembleOfTrees, error){readXGBoostBinary, readXGBoost, readLightGBM} {
			if e, err := read(bytes.NewReader(data)); err == nil && e.features < 1 {
				t.Fatal("no error for a model without features")
			}
		}
	})
}
