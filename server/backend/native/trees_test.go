package native

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
)

func TestOutputRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		rule  outputRule
		y     []float64
		width int
		want  []float64
		out   int
	}{
		{"one value", outputRule{threshold: 0.5}, []float64{0.4, 0.5, 0.6}, 1, []float64{0, 0, 1}, 1},
		{"another threshold", outputRule{threshold: 0.3}, []float64{0.2, 0.4}, 1, []float64{0, 1}, 1},
		{"both probabilities", outputRule{proba: true, last: 2}, []float64{0.25, 0.5}, 1, []float64{0.75, 0.25, 0.5, 0.5}, 2},
		{"one probability", outputRule{proba: true, last: 1}, []float64{0.25}, 1, []float64{0.25}, 1},
		{"the second of two", outputRule{proba: true, last: 1}, []float64{0.75, 0.25}, 2, []float64{0.25}, 1},
		{"all probabilities", outputRule{proba: true, last: 3}, []float64{0.25, 0.5, 0.25}, 3, []float64{0.25, 0.5, 0.25}, 3},
		{"two classes", outputRule{threshold: 0.5}, []float64{0.25, 0.75, 0.5, 0.5}, 2, []float64{1, 0}, 1},
		{"three classes", outputRule{}, []float64{0, 1, 0, 0, 0, 1, 1, 1, 0}, 3, []float64{1, 2, 0}, 1},
	} {
		got, out := c.rule.apply(nil, c.y, c.width)
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, c.out, out, c.name)
	}
}

func TestSoftmax(t *testing.T) {
	t.Parallel()
	y := []float64{0, 0, 1000, -1000}
	softmax(y, 2)
	require.Equal(t, []float64{0.5, 0.5, 1, 0}, y)
}

func TestEncodeOutput(t *testing.T) {
	t.Parallel()
	for d, want := range map[tensor.DataType][]byte{
		tensor.FP32: {0, 0, 0x80, 0xbf}, tensor.FP64: {0, 0, 0, 0, 0, 0, 0xf0, 0xbf},
		tensor.Int32: {255, 255, 255, 255}, tensor.Int64: {255, 255, 255, 255, 255, 255, 255, 255},
	} {
		require.Equal(t, want, encodeOutput(nil, d, []float64{-1}))
	}
}

func TestDescribeForests(t *testing.T) {
	t.Parallel()
	got, err := describeXGBoost([]byte(`{"learner": {"objective": {"name": "multi:softmax"}, "learner_model_param": {"num_class": "3"}}}`))
	require.NoError(t, err)
	require.Equal(t, forestTraits{classes: 3, classifier: true, margin: true}, got)
	_, err = describeXGBoost([]byte(`{"learner": {"learner_model_param": {"num_class": "many"}}}`))
	require.ErrorContains(t, err, "num_class")
	_, err = describeXGBoost([]byte(`{`))
	require.ErrorContains(t, err, "XGBoost's description of the model")
	path := filepath.Join(t.TempDir(), "model.txt")
	require.NoError(t, os.WriteFile(path, []byte("tree\nobjective=multiclass num_class:3\n"), 0o644))
	got, err = describeLightGBM(path, 3)
	require.NoError(t, err)
	require.Equal(t, forestTraits{classes: 3, classifier: true}, got)
}

// What only the form in Python knows is left to it, without a look for a library.
func TestTreesReadyRefuses(t *testing.T) {
	t.Parallel()
	model := func(kind string, in, out inferencepb.DataType) *inferencepb.ModelConfig {
		return &inferencepb.ModelConfig{
			Name: "m", Parameters: map[string]*inferencepb.ModelParameter{"model_type": {StringValue: kind}},
			Input: []*inferencepb.ModelInput{{DataType: in}}, Output: []*inferencepb.ModelOutput{{DataType: out}},
		}
	}
	const f, half = inferencepb.DataType_TYPE_FP32, inferencepb.DataType_TYPE_FP16
	e := NewTrees("fil", Search{System: []string{}})
	nowhere := map[string]string{"python-executable": "/nosuch/python"}
	require.ErrorIs(t, e.Ready(model("sklearn", f, f), nowhere), errTreesFormat)
	require.ErrorIs(t, e.Ready(model("", half, f), nowhere), errTreesTypes)
	require.ErrorIs(t, e.Ready(model("", f, half), nowhere), errTreesTypes)
	require.ErrorIs(t, e.Ready(model("", f, f), nowhere), backend.ErrNoLibrary)
}
