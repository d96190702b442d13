package offline

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// fuzzed are the inputs of the fuzz tests.
func fuzzed() []data.Tensor {
	all := []data.Tensor{
		input("X", tensor.FP32, -1), input("S", tensor.Bytes, -1), input("I", tensor.Int8, 2, -1), input("B", tensor.Bool, 1), input("U", tensor.Uint64, -1, -1),
	}
	for i := range all {
		all[i].Optional = true
	}
	return all
}

// check fails for values that do not have the size of their shape.
func check(t *testing.T, inputs []data.Tensor, row rowValues) {
	t.Helper()
	for i, v := range row {
		if v.Data == nil {
			continue
		}
		if !v.Shape.Matches(inputs[i].Shape) {
			t.Errorf("input %s has the shape %s", inputs[i].Name, v.Shape)
		}
		if _, err := appendOutputs(nil, []rowOutput{{"o", inputs[i].DataType, v.Shape, v.Data}}); err != nil {
			t.Errorf("input %s: %v", inputs[i].Name, err)
		}
	}
}

// FuzzJSON wants no panic, and values that fit their shape.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"X": [1, 2.5], "S": ["a", {"b64": "aGk="}], "I": [[1], [2]], "B": true, "U": {"b64": "AAAAAAAAAAA=", "shape": [1, 1]}}`))
	f.Add([]byte(`{"X": [[[]]], "S": {}, "I": [], "B": [null], "U": [[[[1]], 2]]}`))
	inputs := fuzzed()
	f.Fuzz(func(t *testing.T, line []byte) {
		var d decoder
		if row, _, err := d.row(line, inputs); err == nil {
			check(t, inputs, row)
		}
	})
}

// FuzzFiles wants no panic of the readers of binary files, nor values that do not fit their
// shape.
func FuzzFiles(f *testing.F) {
	f.Add(npy(1, "<f4", false, "2, 2", floats(1, 2, 3, 4)), false)
	f.Add(npy(2, "|S3", false, "2,", []byte("abcdef")), false)
	f.Add(npy(1, "<U1", false, "1, 0", nil), false)
	var b bytes.Buffer
	if err := parquet.Write(&b, []struct {
		X []float32 `parquet:"X,list"`
		S string    `parquet:"S"`
		I [][]int32 `parquet:"I,list"`
		U uint64    `parquet:"U"`
	}{{[]float32{1, 2}, "a", [][]int32{{1}, {2}}, 3}, {nil, "", nil, 0}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), true)
	f.Fuzz(func(t *testing.T, content []byte, columns bool) {
		inputs := fuzzed()
		path := filepath.Join(t.TempDir(), "f.npy")
		if columns {
			path = filepath.Join(t.TempDir(), "f.parquet")
		} else {
			inputs = inputs[:1]
			if bytes.ContainsAny(content[:min(len(content), 100)], "SU") {
				inputs = fuzzed()[1:2]
			}
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openRows([]RowFile{{Path: path}}, inputs, nil)
		if err != nil {
			return
		}
		defer func() { _ = s.Close() }()
		for range 100 {
			row, err := s.Next()
			var bad *RowError
			switch {
			case err == nil:
				check(t, inputs, row)
			case !errors.As(err, &bad):
				return
			}
		}
	})
}
