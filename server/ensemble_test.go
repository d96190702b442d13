package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/servertest"
)

const linear = `platform: "ensemble"
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
  step { model_name: "a" model_version: -1 input_map { key: "INPUT0" value: "IN" } output_map { key: "OUTPUT0" value: "t" } }
  step { model_name: "b" model_version: -1 input_map { key: "INPUT0" value: "t" } output_map { key: "OUTPUT0" value: "OUT" } }
}
`

func TestLinearEnsemble(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t,
		servertest.Model("a", servertest.Identity("INT32", "-1", 0)), servertest.Model("b", servertest.Identity("INT32", "-1", 0)),
		servertest.Model("lin", linear))
	code, body, err := post(newClient(t), "http://"+s.HTTP+"/v2/models/lin/infer", `{"id":"x1","inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[1,2]}]}`)
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	require.Equal(t, `{"id":"x1","model_name":"lin","model_version":"1","parameters":{"sequence_id":0,"sequence_start":false,"sequence_end":false},`+
		`"outputs":[{"name":"OUT","datatype":"INT32","shape":[2],"data":[1,2]}]}`, body)
}
