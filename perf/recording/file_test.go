package recording_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/recording"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

func message() *kserve.Request {
	m := &kserve.Request{
		ModelName: "m", ModelVersion: "3", SequenceID: 1 << 63, SequenceStart: true, Priority: 2, TimeoutMicros: 5,
		Parameters: []kserve.Parameter{
			{Name: "b", Kind: kserve.ParamBool, Bool: true},
			{Name: "i", Kind: kserve.ParamInt, Int: math.MinInt64},
			{Name: "d", Kind: kserve.ParamDouble, Double: 0.5},
			{Name: "d1", Kind: kserve.ParamDouble, Double: 1},
			{Name: "d2", Kind: kserve.ParamDouble, Double: -1e300},
			{Name: "u", Kind: kserve.ParamUint, Uint: math.MaxUint64},
			{Name: "s", Kind: kserve.ParamString, String: "<a>"},
			{Name: "nan", Kind: kserve.ParamDouble, Double: math.NaN()},
		},
	}
	in := m.AddInput()
	in.Name, in.DataType, in.Shape = "X", tensor.Int16, tensor.Shape{2, 1}
	in.Data.Append(tensor.HeapBuffer([]byte{1, 2}), 0, 2)
	in.Data.Append(tensor.HeapBuffer([]byte{3, 4}), 0, 2)
	return m
}

func write(t *testing.T, requests ...*recording.Request) string {
	t.Helper()
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, recording.Header{Program: "p", Protocol: "HTTP"})
	require.NoError(t, err)
	for _, r := range requests {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Flush())
	return b.String()
}

func read(text string) (*recording.Header, []*recording.Request, error) {
	var all []*recording.Request
	h, err := recording.Read(strings.NewReader(text), func(_ int, r *recording.Request) error {
		all = append(all, r)
		return nil
	})
	return h, all, err
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	text := write(t, recording.FromMessage(1500*time.Microsecond+7, message()))
	require.True(t, recording.Is([]byte(text)))
	h, all, err := read(text)
	require.NoError(t, err)
	require.Equal(t, "HTTP", h.Protocol)
	require.Len(t, all, 1)
	r := all[0]
	require.Equal(t, 1500*time.Microsecond+7, r.Arrival())
	require.Equal(t, json.Number("9223372036854775808"), r.SequenceID)
	require.Equal(t, []recording.Tensor{{Name: "X", DataType: "INT16", Shape: []int64{2, 1}, Data: []byte{1, 2, 3, 4}}}, r.Inputs)
	require.NoError(t, r.Inputs[0].Check())
	ps, err := r.KServe()
	require.NoError(t, err)
	slices.SortFunc(ps, func(a, b kserve.Parameter) int { return strings.Compare(a.Name, b.Name) })
	want := message().Parameters[:7]
	slices.SortFunc(want, func(a, b kserve.Parameter) int { return strings.Compare(a.Name, b.Name) })
	require.Equal(t, want, ps, "a number that JSON does not have is left out")
}

// TestCutOff: a recording that was killed can be read up to its last whole line.
func TestCutOff(t *testing.T) {
	t.Parallel()
	text := write(t, recording.FromMessage(1, message()), recording.FromMessage(2, message()))
	_, all, err := read(text[:len(text)-3])
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	header := write(t)
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "line 1: the header of a trace is missing"},
		"another file":  {"{\"data\":[]}\n", "line 1: this is no trace of triton perf record"},
		"newer":         {`{"format":"triton-perf-trace","version":9}` + "\n", "line 1: the trace has version 9 of the format, and this program reads version 1"},
		"no JSON":       {header + "\n\nx\n", "line 4: invalid character 'x'"},
		"negative":      {header + `{"arrival_us":-1}` + "\n", "line 2: the arrival -1 is no time since the start"},
		"too late":      {header + `{"arrival_us":1e300}` + "\n", "line 2: the arrival 1e+300 is no time"},
		"a wrong field": {header + `{"inputs":3}` + "\n", "line 2: json: cannot unmarshal number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := read(c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
	for _, tt := range []struct {
		tensor recording.Tensor
		want   string
	}{
		{recording.Tensor{Name: "X", DataType: "INT3"}, `unknown data type "INT3"`},
		{recording.Tensor{Name: "X", DataType: "INT8", Shape: []int64{2}, Data: []byte{1}}, "has 1 bytes, which is not the size of INT8 [2]"},
		{recording.Tensor{Name: "X", DataType: "INT8", Shape: []int64{-1}}, `input "X"`},
		{recording.Tensor{Name: "X", DataType: "BYTES", Shape: []int64{2}, Data: []byte{1, 0, 0, 0, 'a'}}, "has not the 2 texts of its shape [2]"},
	} {
		require.ErrorContains(t, tt.tensor.Check(), tt.want)
	}
	_, err := (&recording.Request{Parameters: map[string]any{"x": []any{}}}).KServe()
	require.ErrorContains(t, err, `the parameter "x" must be a bool, a number or a text`)
}

// FuzzRead: every file gives an error or requests that can be written and read again.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, recording.Header{})
	require.NoError(f, err)
	require.NoError(f, w.Write(recording.FromMessage(3, message())))
	require.NoError(f, w.Flush())
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		_, all, err := read(string(text))
		if err != nil {
			return
		}
		for _, r := range all {
			require.GreaterOrEqual(t, r.Arrival(), time.Duration(0))
			for i := range r.Inputs {
				_ = r.Inputs[i].Check()
			}
			_, _ = r.KServe()
		}
		_, again, err := read(write(t, all...))
		require.NoError(t, err)
		require.Len(t, again, len(all))
	})
}
