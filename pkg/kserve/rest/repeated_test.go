package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// TestRepeated: what is given twice is refused, so that neither wish is lost. Unknown members are
// ignored, however often they occur.
func TestRepeated(t *testing.T) {
	t.Parallel()
	const input = `{"name":"A","datatype":"INT32","shape":[1],"data":[5]}`
	in := func(more string) string { return `{"inputs":[` + strings.Replace(input, "}", ","+more+"}", 1) + `]}` }
	out := func(params string) string {
		return `{"inputs":[` + input + `],"outputs":[{"name":"B","parameters":{` + params + `}}]}`
	}
	many := ""
	for i := range 40 {
		many += fmt.Sprintf(`"p%d":1,`, i)
	}
	for text, want := range map[string]string{
		`{"id":"a","inputs":[` + input + `],"id":"b"}`:                      "the request has more than one member 'id'",
		`{"inputs":[` + input + `],"inputs":[]}`:                            "the request has more than one member 'inputs'",
		`{"inputs":[` + input + `],"outputs":[],"outputs":[]}`:              "the request has more than one member 'outputs'",
		`{"parameters":{},"parameters":{"a":1},"inputs":[` + input + `]}`:   "the request has more than one member 'parameters'",
		`{"parameters":{"a":1,"b":1,"a":2},"inputs":[` + input + `]}`:       "the request has more than one parameter 'a'",
		`{"parameters":{"timeout":1,"timeout":2},"inputs":[` + input + `]}`: "the request has more than one parameter 'timeout'",
		`{"parameters":{` + many + `"p7":2},"inputs":[` + input + `]}`:      "the request has more than one parameter 'p7'",
		in(`"shape":[2]`):                                            "an input has more than one member 'shape'",
		in(`"\u0064ata":[6]`):                                        "an input has more than one member 'data'",
		in(`"name":"C"`):                                             "an input has more than one member 'name'",
		in(`"datatype":"FP32"`):                                      "an input has more than one member 'datatype'",
		in(`"parameters":{},"parameters":{}`):                        "an input has more than one member 'parameters'",
		out(`"binary_data":true,"binary_data":false`):                "an output has more than one parameter 'binary_data'",
		out(`"classification":1,"classification":2`):                 "an output has more than one parameter 'classification'",
		out(`"shared_memory_region":"r","shared_memory_region":"s"`): "an output has more than one parameter 'shared_memory_region'",
		`{"inputs":[{"name":"A","datatype":"INT32","shape":[1],"parameters":{"binary_data_size":4,"binary_data_size":8}}]}`: "an input has more than one parameter 'binary_data_size'",
		`{"inputs":[` + input + `],"outputs":[{"name":"B","name":"C"}]}`:                                                    "an output has more than one member 'name'",
		`{"x":1,"x":2,"inputs":[` + input + `]}`:                                                                            "",
		in(`"x":1,"x":2`):                                                                                                   "",
	} {
		decode(t, text, len(text), func(_ *kserve.Request, err error) {
			if want == "" {
				require.NoError(t, err, text)
				return
			}
			require.EqualError(t, err, want, text)
			require.Equal(t, status.InvalidArg, status.CodeOf(err))
		})
	}
	schema := func(name string) (tensor.DataType, tensor.Shape, bool) {
		return tensor.Int32, tensor.Shape{1}, name == "A"
	}
	for text, want := range map[string]string{
		`{"A":1,"x":1,"x":2}`:                "the request has more than one member 'x'",
		`{"A":1,"parameters":{"x":1,"x":2}}`: "Converting keyword: 'parameters': the request has more than one member 'x'",
		`{"A":1,"A":2}`:                      "[request id: <id_unknown>] input 'A' already exists in request",
	} {
		d := Decoder{Pool: tensor.NewPool()}
		req := &kserve.Request{}
		require.EqualError(t, d.DecodeGenerate(req, []byte(text), schema), want)
		req.Reset()
	}
}
