package scaffold

import (
	"bytes"
	"io"
	"testing"
)

// The readers of foreign bytes do not panic and do not hang.

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
