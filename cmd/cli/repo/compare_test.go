package repo

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

func parse(t testing.TB, text string) *inferencepb.ModelConfig {
	t.Helper()
	c, err := modelconfig.Parse("f", []byte(text))
	require.NoError(t, err)
	return c.ModelConfig
}

func TestConfigs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string
		want     []string
	}{
		"same":    {`name: "m" max_batch_size: 8`, "# c\nmax_batch_size: 8, name: 'm'", nil},
		"default": {`max_batch_size: 0`, ``, nil},
		"scalar":  {`max_batch_size: 8 name: "a"`, `name: "b c"`, []string{`~ name: "a" -> "b c"`, `~ max_batch_size: 8 -> 0`}},
		"message": {
			`dynamic_batching { preferred_batch_size: [ 4, 8 ] }`, `sequence_batching { oldest { max_candidate_sequences: 2 } }`,
			[]string{"- dynamic_batching: { preferred_batch_size: [ 4, 8 ] }", "+ sequence_batching: { oldest { max_candidate_sequences: 2 } }"},
		},
		"empty message": {``, `dynamic_batching { }`, []string{`+ dynamic_batching: { }`}},
		"inside":        {`dynamic_batching { preferred_batch_size: 4 }`, `dynamic_batching { preferred_batch_size: [ 4, 8 ] }`, []string{`~ dynamic_batching.preferred_batch_size: [ 4 ] -> [ 4, 8 ]`}},
		"list removed":  {`dynamic_batching { preferred_batch_size: 4 }`, `dynamic_batching { }`, []string{`- dynamic_batching.preferred_batch_size: [ 4 ]`}},
		"by name": {
			`input [ { name: "a" dims: 1 }, { name: "b" data_type: TYPE_FP32 } ]`, `input [ { name: "b" data_type: TYPE_FP16 }, { name: "c" } ]`,
			[]string{`- input["a"]: { name: "a" dims: [ 1 ] }`, `~ input["b"].data_type: TYPE_FP32 -> TYPE_FP16`, `+ input["c"]: { name: "c" }`},
		},
		"order of names": {`input { name: "a" } input { name: "b" }`, `input { name: "b" } input { name: "a" }`, nil},
		"by number":      {`instance_group { count: 1 }`, `instance_group { count: 2 } instance_group { count: 1 }`, []string{`~ instance_group[0].count: 1 -> 2`, `+ instance_group[1]: { count: 1 }`}},
		"steps": {
			`ensemble_scheduling { step { model_name: "a" input_map { key: "x" value: "y" } } }`, `ensemble_scheduling { step { model_name: "a" input_map { key: "x" value: "z" } } }`,
			[]string{`~ ensemble_scheduling.step["a"].input_map["x"]: "y" -> "z"`},
		},
		"same model twice": {
			`ensemble_scheduling { step { model_name: "a" } step { model_name: "a" } }`, `ensemble_scheduling { step { model_name: "a" } step { model_name: "a" model_version: 2 } }`,
			[]string{`~ ensemble_scheduling.step[1].model_version: 0 -> 2`},
		},
		"parameters": {
			`parameters { key: "a" value { string_value: "1  2" } } parameters { key: "b" }`, `parameters { key: "c" value { string_value: "1" } } parameters { key: "b" value { string_value: "x" } }`,
			[]string{`- parameters["a"]: { string_value: "1  2" }`, `~ parameters["b"].string_value: "" -> "x"`, `+ parameters["c"]: { string_value: "1" }`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range compareConfigs(parse(t, c.from), parse(t, c.to)) {
				got = append(got, c.String())
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	a := comparedModel{Name: "a", Config: parse(t, "max_batch_size: 1"), Versions: []int64{2, 1}}
	b := comparedModel{Name: "b", Config: parse(t, "")}
	newer := comparedModel{Name: "a", Config: parse(t, "max_batch_size: 2"), Versions: []int64{3, 2}}
	require.Equal(t, []configChange{
		{Model: "a", Path: "max_batch_size", Old: "1", New: "2"},
		{Model: "a", Path: "versions", Old: "1, 2", New: "2, 3"},
		{Model: "b", Old: "model"},
		{Model: "c", New: "model"},
	}, compareModels([]comparedModel{a, b}, []comparedModel{newer, {Name: "c", Config: parse(t, "")}}))
	other := a
	other.Name = "other"
	require.Empty(t, compareModels([]comparedModel{a}, []comparedModel{other}), "two models, whatever their names")
}

// FuzzConfigs finds a difference exactly when there is one: the order of named elements aside.
func FuzzConfigs(f *testing.F) {
	f.Add(`name: "a" input { name: "x" } input { name: "x" }`, `parameters { key: "a" value { string_value: "b" } } dynamic_batching { }`)
	f.Fuzz(func(t *testing.T, from, to string) {
		a, err := modelconfig.Parse("f", []byte(from))
		if err != nil {
			return
		}
		require.Empty(t, compareConfigs(a.ModelConfig, proto.CloneOf(a.ModelConfig)))
		if b, err := modelconfig.Parse("f", []byte(to)); err == nil {
			there, back := compareConfigs(a.ModelConfig, b.ModelConfig), compareConfigs(b.ModelConfig, a.ModelConfig)
			require.Len(t, back, len(there))
			if proto.Equal(a.ModelConfig, b.ModelConfig) {
				require.Empty(t, there)
			}
		}
	})
}
