package pbtxt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
)

const commented = `# my model
name: "m"   # not the folder's name
max_batch_size: 8 # enough
input [
  { name: "a" data_type: TYPE_FP32 dims: [ 3, 4 ] }, # first
  # second
  { name: "b" data_type: TYPE_FP32 dims: 1 }
]
instance_group { count: 1 kind: KIND_CPU } # one
dynamic_batching {
  # wait a little
  max_queue_delay_microseconds: 100
}
parameters { key: "k" value { string_value: "v" } }
cc_model_filenames: { key: "7.5" value: "a.plan" }
`

func TestEdits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*pbtxt.Editor) error
		from string // line or lines that change
		to   string
	}{
		"set":            {set("max_batch_size", "16"), "max_batch_size: 8 # enough", "max_batch_size: 16 # enough"},
		"set deep":       {set("instance_group[0].count", "4"), "{ count: 1 kind", "{ count: 4 kind"},
		"set element":    {set("input[0].dims[1]", "-1"), "[ 3, 4 ]", "[ 3, -1 ]"},
		"set list":       {set("input[0].dims", "[ 9 ]"), "[ 3, 4 ]", "[ 9 ]"},
		"set in entry":   {set(`parameters["k"].string_value`, `"w"`), `"v"`, `"w"`},
		"set entry":      {set(`cc_model_filenames["7.5"]`, `"b.plan"`), `"a.plan"`, `"b.plan"`},
		"rename":         {func(x *pbtxt.Editor) error { return x.Rename("instance_group", "group") }, "instance_group {", "group {"},
		"insert":         {insert("dynamic_batching", "preserve_ordering: true"), "100\n}", "100\n  preserve_ordering: true\n}"},
		"insert in line": {insert("instance_group[0]", "gpus: [ 0 ]"), "KIND_CPU }", "KIND_CPU gpus: [ 0 ] }"},
		"insert lines":   {insert("instance_group[0]", "rate_limiter {\n}"), "KIND_CPU }", "KIND_CPU\n  rate_limiter {\n  }\n}"},
		"insert at top":  {insert("", "optimization {\n}\n"), "\"a.plan\" }\n", "\"a.plan\" }\noptimization {\n}\n"},
		"append to list": {app("input[0].dims", "5"), "[ 3, 4 ]", "[ 3, 4, 5 ]"},
		"append message": {app("input", "{ name: \"c\" }"), "dims: 1 }\n]", "dims: 1 }, { name: \"c\" }\n]"},
		"append field":   {app("input[1].dims", "2"), "dims: 1 }", "dims: 1\n  dims: 2 }"},
		"remove":         {remove("name"), "name: \"m\"   # not", "# not"},
		"remove a line":  {remove("dynamic_batching.max_queue_delay_microseconds"), "  max_queue_delay_microseconds: 100\n", ""},
		"remove first":   {remove("input[0]"), `{ name: "a" data_type: TYPE_FP32 dims: [ 3, 4 ] }, # first`, "# first"},
		"remove last":    {remove("input[1]"), "}, # first\n  # second\n  { name: \"b\" data_type: TYPE_FP32 dims: 1 }\n]", "}  # first\n  # second\n]"},
		"remove entry":   {remove(`parameters["k"]`), "parameters { key: \"k\" value { string_value: \"v\" } }\n", ""},
	} {
		text, err := pbtxt.NewEditor([]byte(commented))
		require.NoError(t, err)
		require.NoError(t, c.edit(text), name)
		require.Contains(t, commented, c.from, name)
		require.Equal(t, strings.Replace(commented, c.from, c.to, 1), string(text.Bytes()), name)
	}
}

func set(path, value string) func(*pbtxt.Editor) error {
	return func(x *pbtxt.Editor) error { return x.Set(path, value) }
}

func insert(path, value string) func(*pbtxt.Editor) error {
	return func(x *pbtxt.Editor) error { return x.Insert(path, value) }
}

func app(path, value string) func(*pbtxt.Editor) error {
	return func(x *pbtxt.Editor) error { return x.Append(path, value) }
}

func remove(path string) func(*pbtxt.Editor) error {
	return func(x *pbtxt.Editor) error { return x.Remove(path) }
}

func TestFailedEditsChangeNothing(t *testing.T) {
	t.Parallel()
	text, err := pbtxt.NewEditor([]byte(commented))
	require.NoError(t, err)
	for want, f := range map[string]func(*pbtxt.Editor) error{
		"the text does not have backend":                           set("backend", `"x"`),
		"the text does not have input[2]":                          remove("input[2]"),
		"name is not a message":                                    insert("name", "x: 1"),
		`"a..b" is not the path of a field`:                        remove("a..b"),
		`"a[x]" is not the path of a field: "x" is not an index`:   app("a[x]", "1"),
		"the edited text cannot be read: line 3: expected a value": set("max_batch_size", "}"),
	} {
		require.EqualError(t, f(text), want)
	}
	require.Equal(t, commented, string(text.Bytes()))
	for want, src := range map[string]string{
		"line 2: a message is not closed":      "a {\n  b: 1",
		"line 1: a string is not closed":       "a: \"x\n",
		"line 1: expected the name of a field": "}",
	} {
		_, err := pbtxt.NewEditor([]byte(src))
		require.EqualError(t, err, want)
	}
}

func TestApplyKeepsComments(t *testing.T) {
	t.Parallel()
	c, err := modelconfig.Parse("", []byte(commented))
	require.NoError(t, err)
	want := proto.Clone(c.ModelConfig).(*inferencepb.ModelConfig)
	want.InstanceGroup[0].Count = 6
	want.MaxBatchSize = 0
	want.GetDynamicBatching().PreferredBatchSize = []int32{4, 8}
	want.SchedulingChoice.(*inferencepb.ModelConfig_DynamicBatching).DynamicBatching.MaxQueueDelayMicroseconds = 0
	got, err := pbtxt.Apply([]byte(commented), want)
	require.NoError(t, err)
	require.Equal(t, strings.NewReplacer(
		"count: 1", "count: 6", "max_batch_size: 8", "max_batch_size: 0",
		"microseconds: 100\n", "microseconds: 0\n  preferred_batch_size: [ 4, 8 ]\n",
	).Replace(commented), string(got))
}

// TestApplyTurnsAnyIntoAny edits every configuration of the test data into every other.
func TestApplyTurnsAnyIntoAny(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "json", "*.pbtxt"))
	require.NoError(t, err)
	texts := [][]byte{nil, []byte(commented)}
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		texts = append(texts, b)
	}
	require.Greater(t, len(texts), 6)
	for _, from := range texts {
		for _, to := range texts {
			want, err := modelconfig.Parse("", to)
			require.NoError(t, err)
			got, err := pbtxt.Apply(from, want.ModelConfig)
			require.NoError(t, err, "%s\n->\n%s", from, to)
			if bytes.Equal(from, texts[1]) {
				for _, comment := range []string{"# my model", "# not the folder's name", "# enough", "# one"} {
					require.Contains(t, string(got), comment)
				}
			}
		}
	}
}

// FuzzEdit checks that every text that the configuration parser takes can be read and turned into
// another, and that no edit panics.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(commented), "input[0]", "{ name: \"x\" }")
	f.Add([]byte("input [{name: 'a'} # x\n,{name: 'b'}]"), "input[1].name", "'c'")
	f.Add([]byte("max_batch_size: 1;;"), "max_batch_size", "#")
	f.Fuzz(func(t *testing.T, src []byte, path, value string) {
		c, invalid := modelconfig.Parse("", src)
		text, err := pbtxt.NewEditor(src)
		if invalid == nil {
			require.NoError(t, err)
			_, err := pbtxt.Apply(src, c.ModelConfig)
			require.NoError(t, err)
		}
		if err != nil {
			return
		}
		_ = text.Set(path, value)
		_ = text.Append(path, value)
		_ = text.Insert(path, value)
		_ = text.Remove(path)
		_, err = pbtxt.NewEditor(text.Bytes())
		require.NoError(t, err)
	})
}
