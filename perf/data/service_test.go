package data_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf/data"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// payloads are the inputs of an OpenAI endpoint.
var payloads = data.Signature{Model: "m", Inputs: []data.Tensor{{Name: "payload", DataType: tensor.Bytes, Shape: tensor.Shape{1}, JSON: true}}}

func loadText(t *testing.T, text string, o data.Options, s data.Signature) (*data.Set, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	o.Source, o.Paths = data.Files, []string{file}
	return data.Load(o, s)
}

func elements(t *testing.T, b []byte) []string {
	t.Helper()
	var all []string
	for e, err := range tensor.Elements(b) {
		require.NoError(t, err)
		all = append(all, string(e))
	}
	return all
}

func TestJSONInputs(t *testing.T) {
	t.Parallel()
	set, err := loadText(t, `{"data":[
		{"payload":[{"model": "a\"b", "n": 1.50, "list": [true, null, {}], "é": "\u00e9\n"}]},
		{"payload":{"content":["just text"],"shape":[1]}},
		{"payload":[12345678901234567890]}]}`, data.Options{}, payloads)
	require.NoError(t, err)
	var got []string
	for _, step := range set.Streams[0] {
		got = append(got, elements(t, step.Inputs["payload"].Data)...)
	}
	require.Equal(t, []string{`{"model":"a\"b","n":1.50,"list":[true,null,{}],"é":"é\n"}`, `"just text"`, "12345678901234567890"}, got)

	for text, want := range map[string]string{
		`{"data":[{"payload":[{},{}]}]}`:                 "JSON format does not yet support multiple json objects in the input",
		`{"data":[{"payload":[]}]}`:                      "JSON format does not yet support multiple json objects in the input",
		`{"data":[{"payload":"x"}]}`:                     "Input data file is malformed.",
		`{"data":[{}]}`:                                  "missing tensor payload",
		`{"data":[{"payload":[{}],"session_id":["a"]}]}`: "The input or output 'session_id' is not found in the model configuration",
	} {
		_, err := loadText(t, text, data.Options{}, payloads)
		require.ErrorContains(t, err, want)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	o := data.Options{Sessions: true}
	set, err := loadText(t, `{"data":[
		{"payload":[{"n":0}],"session_id":["a"],"delay":[5]},
		{"payload":[{"n":1}],"session_id":["b"]},
		{"payload":[{"n":2}],"session_id":["a"]}]}`, o, payloads)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 2}, {1}}, set.Sessions())
	require.Equal(t, data.Turn{ID: "a", Delay: 5 * time.Millisecond, HasDelay: true}, set.Turn(0))
	require.Equal(t, data.Turn{ID: "a"}, set.Turn(2))

	req := &kserve.Request{}
	set.Turn(0).AddTo(req)
	require.Equal(t, []string{"session_id", "delay"}, []string{req.Inputs[0].Name, req.Inputs[1].Name})
	delay, _ := req.Inputs[1].Data.Contiguous()
	require.Equal(t, []byte{5, 0, 0, 0, 0, 0, 0, 0}, delay)

	for text, want := range map[string]string{
		`{"data":[{"payload":[{}]}]}`:                                                   "missing tensor session_id ( Location stream id: 0, step id: 0)",
		`{"data":[[{"payload":[{}],"session_id":["a"]}]]}`:                              "Session concurrency mode must have an input data JSON with a single flat array",
		`{"data":[{"payload":[{}],"session_id":["a"],"delay":[18446744073709551615]}]}`: "the delay of 18446744073709551615 milliseconds is too long",
		`{"data":[{"payload":[{}],"session_id":["a","b"]}]}`:                            "mismatch in the data provided for session_id",
	} {
		_, err := loadText(t, text, o, payloads)
		require.ErrorContains(t, err, want)
	}
	_, err = data.Load(o, payloads)
	require.EqualError(t, err, "When using `--session-concurrency`, you must provide a dataset using `--input-data`.")
}

func TestMessageGenerators(t *testing.T) {
	t.Parallel()
	s := data.Signature{Model: "m", Inputs: []data.Tensor{{Name: "message_generator", DataType: tensor.Bytes, Shape: tensor.Shape{-1}, Generator: true}}}
	load := func(command string) (*data.Set, error) {
		return loadText(t, `{"data":[{"message_generator":"`+command+`"}]}`, data.Options{}, s)
	}
	for command, want := range map[string][]string{
		`printf '\\003\\000\\000\\000abc\\001\\000\\000\\000d'`:     {"abc", "d"},
		`printf '\\001\\000\\000\\000a\\000\\000\\000\\000ignored'`: {"a"}, // after a length of 0
		`printf '\\001\\000\\000\\000a\\001\\000'`:                  {"a"}, // the last length is cut short
	} {
		set, err := load(command)
		require.NoError(t, err, command)
		v := set.Streams[0][0].Inputs["message_generator"]
		require.Equal(t, want, elements(t, v.Data))
		require.Equal(t, tensor.Shape{int64(len(want))}, v.Shape)
		req, err := set.Request(0, 0, 1)
		require.NoError(t, err)
		require.Equal(t, v.Shape, req.Inputs[0].Shape)
	}
	for command, want := range map[string]string{
		`printf '\\004\\000\\000\\000abc'`: "Unmatching number of bytes read from the pipe: expected = 4, bytes read = 3",
		`true`:                             "the command wrote no message: true",
		`echo no luck >&2; exit 3`:         "Failed to open pipe with the following process: echo no luck >&2; exit 3 (exit status 3) no luck",
	} {
		_, err := load(command)
		require.ErrorContains(t, err, want)
	}
}
