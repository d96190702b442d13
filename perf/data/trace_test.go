package data_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/data"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

const traceHeader = `{"format":"triton-perf-trace","version":1}` + "\n"

func loadTrace(t *testing.T, s data.Signature, lines ...string) (*data.Set, error) {
	t.Helper()
	o := data.Options{Source: data.Files, Timestamps: true, Paths: []string{write(t, traceHeader+strings.Join(lines, "\n")+"\n")}}
	entries, err := data.ScheduleEntries(o)
	if err == nil {
		require.Equal(t, len(lines), entries)
	}
	return data.Load(o, s)
}

func batching() data.Signature {
	s := one(tensor.Uint8, -1)
	s.Batching = true
	return s
}

func TestTrace(t *testing.T) {
	t.Parallel()
	set, err := loadTrace(t, batching(),
		`{"arrival_us":2000.5,"model":"other","inputs":[{"name":"X","datatype":"UINT8","shape":[2,3],"b64":"AQIDBAUG"}],"parameters":{"p":7},"priority":3,"timeout_us":9}`,
		`{"arrival_us":1000,"model":"other","inputs":[{"name":"X","datatype":"UINT8","shape":[1,1],"b64":"AQ=="}]}`)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{0, 1000500 * time.Nanosecond}, set.Times(), "since the first request, in order")
	req, err := set.Request(0, 1, 1)
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{2, 3}, req.Inputs[0].Shape, "the recorded batch size")
	got := make([]byte, 6)
	req.Inputs[0].Data.CopyTo(got)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, got)
	require.Equal(t, []kserve.Parameter{{Name: "p", Kind: kserve.ParamInt, Int: 7}}, req.Parameters)
	require.EqualValues(t, 3, req.Priority)
	require.EqualValues(t, 9, req.TimeoutMicros)
	require.Equal(t, "m", req.ModelName, "the model of the run")
	_, err = set.Request(0, 0, 2)
	require.EqualError(t, err, "the requests of a trace have batch sizes of their own")
}

func TestTraceOfSeveralModels(t *testing.T) {
	t.Parallel()
	line := func(model string) string {
		return `{"arrival_us":1,"model":"` + model + `","inputs":[{"name":"X","datatype":"UINT8","shape":[1,1],"b64":"AQ=="}]}`
	}
	set, err := loadTrace(t, batching(), line("m"), line("b"), line("m"))
	require.NoError(t, err)
	require.Len(t, set.Streams[0], 2)
	_, err = loadTrace(t, batching(), line("c"), line("b"))
	require.ErrorContains(t, err, "the trace has requests for b, c, and none for m")
}

func TestTraceRefusals(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"name":"Z","datatype":"UINT8","shape":[1,1],"b64":"AQ=="}`: `line 2: the model m has no input "Z"`,
		`{"name":"X","datatype":"INT8","shape":[1,1],"b64":"AQ=="}`:  `input "X" is INT8 [1,1], and the model's is UINT8 [-1]`,
		`{"name":"X","datatype":"UINT8","shape":[1],"b64":"AQ=="}`:   `input "X" is UINT8 [1], and the model's is UINT8 [-1]`,
		`{"name":"X","datatype":"UINT8","shape":[],"b64":"AQ=="}`:    `input "X" has no batch dimension`,
		`{"name":"X","datatype":"UINT8","shape":[2,2],"b64":"AQ=="}`: `has 1 bytes`,
		``: `missing input "X"`,
		`{"name":"X","datatype":"UINT8","shape":[1,1],"b64":"AQ=="},{"name":"X","datatype":"UINT8","shape":[1,1],"b64":"AQ=="}`: `is there twice`,
	} {
		_, err := loadTrace(t, batching(), `{"arrival_us":1,"model":"m","inputs":[`+input+`]}`)
		require.ErrorContains(t, err, want)
	}
	path := write(t, traceHeader)
	_, err := data.Load(data.Options{Source: data.Files, Paths: []string{path}}, batching())
	require.ErrorContains(t, err, "the file is a trace, which needs --fixed-schedule")
	_, err = data.ScheduleEntries(data.Options{Paths: []string{path}})
	require.ErrorContains(t, err, "The dataset provided is empty.")
	_, err = loadTrace(t, batching(), "x")
	require.ErrorContains(t, err, "line 2: invalid character")
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
