package data_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// fuzzSignature has inputs of fixed and variable shape and an optional one.
func fuzzSignature() data.Signature {
	s := signature()
	s.Inputs = append(s.Inputs,
		data.Tensor{Name: "H", DataType: tensor.FP16, Shape: tensor.Shape{2}, Optional: true},
		data.Tensor{Name: "V", DataType: tensor.Int64, Shape: tensor.Shape{-1, -1}, Optional: true})
	return s
}

// FuzzRead checks that every file gives an error or data that fits the signature, with and
// without the times of a schedule.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"data":[{"A":[0.5,1],"T":["hello"]}],"validation_data":[{"Y":[1,2]}]}`), false)
	f.Add([]byte(`{"data":[[{"A":{"content":{"b64":"AAAAPwAAgD8="},"shape":[2]},"T":{"b64":"AQAAAHo="}}]]}`), false)
	f.Add([]byte(`{"data":[{"A":[[NaN],[-Infinity]],"T":["\ud83d\u00e9"],"H":[1,2.5],"V":[[1,2],[3,4]]}]}`), false)
	f.Add([]byte(`{"data":[{"A":[1,2],"T":["x"],"V":{"content":[[9]]},"model":1},{"A":[1,2],"T":["y"],"V":{"content":[9],"shape":[1,1]}}]}`), false)
	f.Add([]byte(`{"data":[{"A":[1,2],"T":["x"],"timestamp":[20]},{"A":[1,2],"T":["y"],"timestamp":[10]}]}`), true)
	f.Add([]byte(`{"data":[{"A":[1,2],"T":["x"],"timestamp":{"b64":"AAAAAAAAAAA="}}]}`), true)
	f.Add([]byte(`{"data":[{"A":[1,2],"T":["x"],"timestamp":[18446744073709551615]}]}`), true)
	f.Fuzz(func(t *testing.T, text []byte, timestamps bool) {
		path := filepath.Join(t.TempDir(), "d.json")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		o := data.Options{Source: data.Files, Paths: []string{path}, Timestamps: timestamps}
		entries, entriesErr := data.ScheduleEntries(o)
		s := fuzzSignature()
		set, err := data.Load(o, s)
		if err != nil {
			return
		}
		if timestamps {
			times := set.Times()
			require.True(t, slices.IsSorted(times))
			require.GreaterOrEqual(t, times[0], time.Duration(0))
			if entriesErr == nil {
				require.Len(t, times, entries)
			}
		}
		for k := range len(set.Streams[0]) {
			req, err := set.Request(0, k, 1)
			require.NoError(t, err)
			for i := range req.Inputs {
				in := &req.Inputs[i]
				require.Equal(t, int64(1), in.Shape[0])
				if in.DataType == tensor.Bytes {
					b, ok := in.Data.Contiguous()
					require.True(t, ok)
					n, err := tensor.CountElements(bytes.Clone(b))
					require.NoError(t, err)
					require.Equal(t, 1, n)
					continue
				}
				want, err := in.Shape.ByteSize(in.DataType)
				require.NoError(t, err)
				require.Equal(t, want, int64(in.Data.Len()), in.Name)
			}
		}
	})
}
