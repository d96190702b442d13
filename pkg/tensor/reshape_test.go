package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

func TestAppendReshaped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dst, s, from, to, want tensor.Shape }{
		{nil, tensor.Shape{4, 4}, tensor.Shape{4, 4}, tensor.Shape{16}, tensor.Shape{16}},
		{tensor.Shape{3}, tensor.Shape{16}, tensor.Shape{16}, tensor.Shape{4, 4}, tensor.Shape{3, 4, 4}},
		{tensor.Shape{3}, tensor.Shape{1}, tensor.Shape{1}, tensor.Shape{}, tensor.Shape{3}},
		{nil, tensor.Shape{5, 2, 7}, tensor.Shape{-1, 2, -1}, tensor.Shape{2, -1, 1, -1}, tensor.Shape{2, 5, 1, 7}},
		{tensor.Shape{}, tensor.Shape{}, tensor.Shape{}, tensor.Shape{1}, tensor.Shape{1}},
		{nil, tensor.Shape{7, 8}, tensor.Shape{-1, -1}, tensor.Shape{-1, 1, -1}, tensor.Shape{7, 1, 8}},
		{nil, tensor.Shape{5}, tensor.Shape{-1, -1}, tensor.Shape{-1, -1}, tensor.Shape{5, -1}}, // fewer dimensions than configured
	} {
		require.Equal(t, test.want, tensor.AppendReshaped(test.dst, test.s, test.from, test.to))
	}
}
