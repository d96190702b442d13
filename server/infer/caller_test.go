package infer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// sized is a model of which only the largest batch is known.
type sized struct {
	infer.Model
	largest int32
}

func (m sized) Config() *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{MaxBatchSize: m.largest}
}

// A request that no batch can hold is refused later: it costs its sender no more than a batch.
func TestRowsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		largest int32
		shape   tensor.Shape
		want    int
	}{
		{0, tensor.Shape{5, 3}, 1},
		{8, nil, 1},
		{8, tensor.Shape{0}, 1},
		{8, tensor.Shape{-1}, 1},
		{8, tensor.Shape{5, 3}, 5},
		{8, tensor.Shape{1 << 62, 3}, 8},
	} {
		r := infer.NewRequest()
		r.AddInput().Shape = c.shape
		require.Equal(t, c.want, infer.RowsOf(sized{largest: c.largest}, r), "%d %v", c.largest, c.shape)
	}
	require.Equal(t, 1, infer.RowsOf(sized{largest: 8}, infer.NewRequest()))
}
