package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

func tensorOf(name string, d tensor.DataType, data []byte, shape ...int64) kserve.Tensor {
	t := kserve.Tensor{Name: name, DataType: d, Shape: shape}
	if len(data) > 0 {
		t.Data = tensor.NewData(tensor.HeapBuffer(data))
	}
	return t
}

func TestExport(t *testing.T) {
	t.Parallel()
	text := tensor.AppendElementString(nil, "one \"two\"")
	texts := tensor.AppendElementString(tensor.AppendElementString(nil, "a"), "b")
	r := &perf.Report{
		Levels: []perf.Level{{Load: perf.Load{Value: 4}, Profile: &perf.Profile{
			Windows: []int64{1000, 2000},
			Requests: []perf.RequestRecord{{
				Start: 1100, Sequence: 7,
				Inputs: []kserve.Tensor{tensorOf("A", tensor.Int32, []byte{1, 0, 0, 0, 2, 0, 0, 0}, 1, 2), tensorOf("T", tensor.Bytes, text, 1)},
				Responses: []perf.ResponseRecord{
					{Time: 1200, Outputs: []kserve.Tensor{tensorOf("T", tensor.Bytes, texts, 2), tensorOf("OK", tensor.Bool, []byte{1}, 1)}},
					{Time: 1300, Outputs: []kserve.Tensor{tensorOf("T", tensor.Bytes, nil, 0)}},
				},
			}, {Start: 1400, Responses: []perf.ResponseRecord{{Time: 1500, Outputs: []kserve.Tensor{tensorOf("H", tensor.FP16, []byte{0, 60}, 1), tensorOf("H", tensor.FP16, []byte{0, 60}, 1)}}}}},
		}}},
		Failed: []perf.Level{
			{Load: perf.Load{Mode: perf.RequestRate, Value: 0.5}, Profile: &perf.Profile{Windows: []int64{1, 2}}},
			{Load: perf.Load{Mode: perf.FixedSchedule, Value: 1}, Profile: &perf.Profile{Windows: []int64{1, 2}}},
			{},
		},
	}
	var out, notes bytes.Buffer
	require.NoError(t, WriteExport(&out, r, ExportOptions{Version: "1.2", ServiceKind: "triton", Notes: &notes}))
	require.Equal(t, `{"experiments":[{"experiment":{"mode":"concurrency","value":4},"requests":[`+
		`{"timestamp":1100,"sequence_id":7,"request_inputs":{"A":[1,2],"T":"one \"two\""},"response_timestamps":[1200,1300],"response_outputs":[{"T":["a","b"],"OK":true},{"T":""}]},`+
		`{"timestamp":1400,"request_inputs":{},"response_timestamps":[1500],"response_outputs":[{"H":null,"H":null}]}],"window_boundaries":[1000,2000]},`+
		`{"experiment":{"mode":"request_rate","value":0.5},"requests":[],"window_boundaries":[1,2]},`+
		`{"experiment":{"mode":"request_rate","value":0.0},"requests":[],"window_boundaries":[1,2]}],`+
		`"version":"1.2","service_kind":"triton","endpoint":""}`, out.String())
	require.True(t, json.Valid(out.Bytes()))
	require.Equal(t, "WARNING: unsupported data type: 'FP16'\n", notes.String(), "once")
}
