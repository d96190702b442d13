package modelconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The paths of the fields below a map entry do not repeat all of a long name.
func TestPositionsBelowALongName(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("k.", 50_000)
	ones := strings.Repeat(`1,`, 10_000)
	fromJSON, err := ParseJSON("", []byte(`{"model_warmup":[{"inputs":{"`+name+`":{"dims":[`+ones+`]}}}]}`))
	require.NoError(t, err)
	fromText, err := Parse("", []byte(`model_warmup { inputs { key: "`+name+`" value { dims: [`+strings.TrimSuffix(ones, ",")+`] } } }`))
	require.NoError(t, err)
	for _, c := range []*Config{fromJSON, fromText} {
		require.Len(t, c.GetModelWarmup()[0].GetInputs()[name].GetDims(), 10_000)
		size := 0
		for path := range c.pos {
			size += len(path)
		}
		require.Less(t, size, 10<<20)
		require.Equal(t, c.Position("model_warmup[0].inputs"), c.Position(`model_warmup[0].inputs["`+name+`"].dims[7]`), "the nearest enclosing field with a position")
	}
}
