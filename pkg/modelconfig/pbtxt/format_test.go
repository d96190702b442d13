package pbtxt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
	"triton/pkg/sharedtest"
)

// TestSource formats every testdata/*.txtar: "in" becomes "out", which stays as it is.
func TestSource(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			require.Equal(t, "in", a.Files[0].Name)
			got, err := pbtxt.Format("in", a.Files[0].Data)
			require.NoError(t, err)
			if sharedtest.UpdateGolden() {
				a.Files = append(a.Files[:1], txtar.File{Name: "out", Data: got})
				require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
			}
			require.Equal(t, string(a.Files[1].Data), string(got))
			check(t, a.Files[0].Data)
		})
	}
}

// TestMistake refuses what is no configuration.
func TestMistake(t *testing.T) {
	t.Parallel()
	_, err := pbtxt.Format("m/config.pbtxt", []byte("nothing: 1"))
	require.ErrorContains(t, err, "m/config.pbtxt")
	require.ErrorContains(t, err, `no field named "nothing"`)
}

// TestPublished formats all configurations that this repository has.
func TestPublished(t *testing.T) {
	t.Parallel()
	n := 0
	for _, root := range []string{"../../../repo", "../../../testdata", "../../../server"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".pbtxt" {
				src, err := os.ReadFile(path)
				require.NoError(t, err)
				if _, err := modelconfig.Parse(path, src); err == nil {
					check(t, src)
					n++
				}
			}
			return err
		}))
	}
	require.Greater(t, n, 30)
}

// check formats a text and wants the same configuration, the same comments, and no change when it
// is formatted again.
func check(t *testing.T, src []byte) {
	t.Helper()
	before, err := modelconfig.Parse("f", src)
	require.NoError(t, err)
	out, err := pbtxt.Format("f", src)
	require.NoError(t, err)
	after, err := modelconfig.Parse("f", out)
	require.NoError(t, err)
	require.True(t, proto.Equal(before.ModelConfig, after.ModelConfig), "%s", out)
	require.Equal(t, comments(string(src)), comments(string(out)))
	again, err := pbtxt.Format("f", out)
	require.NoError(t, err)
	require.Equal(t, string(out), string(again))
}

// comments returns the comments of a text without a tree: what follows a # outside quotes.
func comments(src string) []string {
	var list []string
	for quote := byte(0); src != ""; src = src[1:] {
		switch c := src[0]; {
		case quote != 0 && c == '\\' && len(src) > 1:
			src = src[1:]
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '#':
			line, _, _ := strings.Cut(src, "\n")
			list = append(list, strings.TrimRight(line, " \t\r\v\f"))
			src = src[len(line)-1:]
		}
	}
	return list
}

// FuzzSource checks every text that is a configuration.
func FuzzSource(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := modelconfig.Parse("f", src); err == nil {
			check(t, src)
		}
	})
}

var seeds = []string{
	"",
	"# a\n\n\n# b\nname: 'm' # c\nmax_batch_size # d\n : # e\n 8; # f\n# g\n",
	"input { # a\n name: \"x\" data_type: TYPE_FP32 # b\n dims: [ -1, # c\n 3 # d\n , 4 # e\n # f\n ] # g\n # h\n } # i\n",
	`output: [ { name: "y" dims: 1 dims: 2 }, < name: 'z' > ] input [ ]`,
	`parameters { key: "k" value: { string_value: "v" "w" } } parameters [ { key: "a" value { string_value: "b"` + " # q\n# r\n \"c\" } } , # s\n{ key: 'e\\'' } ];",
	`dynamic_batching { preferred_batch_size: [ 0x10, 010, 8 ], max_queue_delay_microseconds: 100; priority_queue_policy { key: 1 value { max_queue_size: 3 } } }`,
	`sequence_batching { direct { minimum_slot_utilization: 1.5f } control_input [ { control { fp32_false_true: [ 0, - inf ] bool_false_true: [ t, False ] } } ] }`,
	"model_metrics { metric_control { histogram_options { buckets: [ " + strings.Repeat("1.25, ", 40) + "nan ] } } }\r\n",
	"version_policy: { all { # nothing\n } }\n\n\nname: \"a\\n\\x41\\101\\u00e9\\\"\"",
}
