package modelconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// TestParseJSONAsTriton compares with the recorded answers of Triton's server
// 2.51.
func TestParseJSONAsTriton(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/json/parse", func(t *testing.T, d *datadriven.TestData) string {
		_, err := ParseJSON("", []byte(d.Input))
		var e *JSONError
		switch {
		case err == nil:
			return "ok"
		case !errors.As(err, &e):
			d.Fatalf(t, "%T", err)
		case e.Pos.Line != 1 || e.Pos.Col < 1 || e.Pos.Col > len(d.Input)+1:
			d.Fatalf(t, "%v is not in the text", e.Pos)
		}
		return e.Msg
	})
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	c, err := ParseJSON("override", []byte(`{
  backend: 'python', "maxBatchSize": "8", "name": "a\u0041\u00e9\ud83d\ude00\q\/",
  "input": {"name": "I", "data_type": "type_int32", "dims": [1e1, "-1", [3]], "optional": "yes"},
  "output": [{"name": "O", "dataType": 8}, null],
  "instance_group": [{"gpus": [0, "1"], "kind": "kind-cpu"}],
  "parameters": {"k": {"string_value": "v"}},
  "sequence_batching": {"direct": {"minimum_slot_utilization": "0.5"}},
  "version_policy": {"latest": null, "specific": {"versions": [2,]}},
}`))
	require.NoError(t, err)
	want, err := Parse("", []byte(`
backend: "python" max_batch_size: 8 name: "aAé😀q/"
input { name: "I" data_type: TYPE_INT32 dims: [ 10, -1, 3 ] optional: true }
output { name: "O" data_type: TYPE_INT32 }
instance_group { gpus: [ 0, 1 ] kind: KIND_CPU }
parameters { key: "k" value { string_value: "v" } }
sequence_batching { direct { minimum_slot_utilization: 0.5 } }
version_policy { specific { versions: [ 2 ] } }`))
	require.NoError(t, err)
	require.True(t, proto.Equal(want.ModelConfig, c.ModelConfig), "%v", c.ModelConfig)
	require.Equal(t, Position{2, 22}, c.Position("max_batch_size"))
	require.Equal(t, Position{3, 67}, c.Position("input[0].dims[1]"))
	require.Equal(t, Position{6, 18}, c.Position(`parameters["k"]`))
	require.True(t, c.Has("input[0].optional"))
	require.False(t, c.Has("platform"))

	_, err = ParseJSON("override", []byte("{\n  \"max_batchsize\": 1\n}"))
	require.EqualError(t, err, `max_batchsize: Cannot find field. (line 2, column 3): did you mean "max_batch_size"?`)
	_, err = ParseJSON("override", []byte(`{"a": "`+strings.Repeat("x", maxFileSize)+`"}`))
	require.ErrorContains(t, err, "it may have at most 4194304")
}

// FuzzParseJSON: nothing makes it panic, and what it reads survives our own
// JSON form.
func FuzzParseJSON(f *testing.F) {
	files, err := filepath.Glob("testdata/json/*")
	require.NoError(f, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		for _, c := range strings.Split(string(text), "json\n") {
			line, _, _ := strings.Cut(c, "\n----")
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseJSON("", text)
		if err != nil {
			return
		}
		again, err := MarshalJSON(c.ModelConfig)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseJSON("", again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if third, _ := MarshalJSON(back.ModelConfig); string(third) != string(again) {
			t.Fatalf("%s became %s", again, third)
		}
	})
}
