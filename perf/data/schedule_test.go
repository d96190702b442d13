package data_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/data"
	"triton/pkg/tensor"
)

func loadSchedule(t *testing.T, texts ...string) (*data.Set, int, error) {
	t.Helper()
	o := data.Options{Source: data.Files, Timestamps: true}
	for i, text := range texts {
		path := filepath.Join(t.TempDir(), string(rune('a'+i))+".json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		o.Paths = append(o.Paths, path)
	}
	n, err := data.ScheduleEntries(o)
	if err != nil {
		return nil, n, err
	}
	set, err := data.Load(o, one(tensor.Int8, 1))
	return set, n, err
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	set, n, err := loadSchedule(t,
		`{"data":[{"X":[1],"timestamp":[30]},{"X":[2],"timestamp":[0]}]}`,
		`{"data":[{"X":[3],"timestamp":[30]},{"X":[4],"timestamp":{"b64":"CgAAAAAAAAA="}}]}`)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, []time.Duration{0, 10 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond}, set.Times())
	var order []byte
	for i := range set.Streams[0] {
		require.Len(t, set.Streams[0][i].Inputs, 1, "the timestamp is no input")
		order = append(order, set.Streams[0][i].Inputs["X"].Data...)
	}
	require.Equal(t, []byte{2, 4, 1, 3}, order)
}

func TestScheduleErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, err string }{
		"no time":       {`{"data":[{"X":[1]}]}`, "missing tensor timestamp ( Location stream id: 0, step id: 0)"},
		"fraction":      {`{"data":[{"X":[1],"timestamp":[0.5]}]}`, "unable to find uint64_t data in json"},
		"two times":     {`{"data":[{"X":[1],"timestamp":[1,2]}]}`, "mismatch in the data provided for timestamp. Expected: 8 bytes, Got: 16 bytes"},
		"too late":      {`{"data":[{"X":[1],"timestamp":[9223372036855]}]}`, "the timestamp of 9223372036855 milliseconds is too late ( Location stream id: 0, step id: 0)"},
		"nested":        {`{"data":[[{"X":[1],"timestamp":[1]}]]}`, "Expected input data JSON to have one stream."},
		"empty":         {`{"data":[]}`, "The dataset provided is empty. When using `--fixed-schedule`, the dataset must contain at least one payload."},
		"other members": {`{"data":[],"validation_data":[]}`, "Input data JSON file must contain an object with a single 'data' member that is an array. Review JSON file: '"},
		"no array":      {`{"data":{}}`, "Input data JSON file must contain an object with a single 'data' member that is an array."},
		"an array":      {`[]`, "Input data JSON file must contain an object with a single 'data' member that is an array."},
		"no JSON":       {``, "RapidJSON parse error 1. Review JSON file for formatting errors: '"},
		"cut off":       {`{"data":[`, "(line 1, column 10: Invalid value.)"},
		"two values":    {`{} {}`, "RapidJSON parse error 2."},
		"bare word":     {`{"data":x}`, "RapidJSON parse error 3."},
		"no name":       {`{1:2}`, "RapidJSON parse error 4."},
		"no colon":      {`{"data" 2}`, "RapidJSON parse error 5."},
		"no comma":      {`{"data":[] 2}`, "RapidJSON parse error 6."},
		"array comma":   {`{"data":[1 2]}`, "RapidJSON parse error 7."},
		"hex":           {`{"data":["\uzzzz"]}`, "RapidJSON parse error 8."},
		"surrogate":     {`{"data":["\ud800x"]}`, "RapidJSON parse error 9."},
		"escape":        {`{"data":["\q"]}`, "RapidJSON parse error 10."},
		"quote":         {`{"data":["x`, "RapidJSON parse error 11."},
		"too big":       {`{"data":[1e999]}`, "RapidJSON parse error 13."},
		"fraction part": {`{"data":[1.]}`, "RapidJSON parse error 14."},
		"exponent":      {`{"data":[1e]}`, "RapidJSON parse error 15."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := loadSchedule(t, c.text)
			require.ErrorContains(t, err, c.err)
		})
	}
	_, err := data.ScheduleEntries(data.Options{})
	require.EqualError(t, err, "When using `--fixed-schedule`, you must provide a dataset using `--input-data`.")
	dir := t.TempDir()
	_, err = data.ScheduleEntries(data.Options{Paths: []string{dir}})
	require.EqualError(t, err, "'"+dir+"' is not a file. When using `--fixed-schedule`, all paths passed to --input-data must be files.")
	_, err = data.Load(data.Options{Timestamps: true}, one(tensor.Int8, 1))
	require.EqualError(t, err, "When using `--fixed-schedule`, you must provide a dataset using `--input-data`.")
}
