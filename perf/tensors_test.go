package perf_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/server/servertest"
)

// Tensors in JSON, with outputs that are compared, from a real server.
func TestJSONTensors(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t,
		servertest.Model("numbers", servertest.Identity("INT32", "4", 8)),
		servertest.Model("floats", servertest.Identity("FP32", "2", 8)),
		servertest.Model("text", servertest.Identity("STRING", "-1", 8)),
		servertest.Model("halves", servertest.Identity("FP16", "1", 8)),
		servertest.Model("sum", sumModel))
	for _, form := range []lane.Options{{JSONInputs: true}, {JSONOutputs: true}, {JSONInputs: true, JSONOutputs: true}} {
		form.Options = client.Options{Address: s.HTTP}
		run := func(model, content string) error {
			c := perf.DefaultConfig(model)
			c.RequestCount, c.Windows, c.Samples, c.Profile = 20, perf.CountWindows, 20, true
			c.Range = perf.Range{Start: 2, End: 2, Step: 1}
			c.Data, c.Sequences.Variation = dataFile(t, content), 0
			rep, err := perf.Run(t.Context(), c, perf.Deps{Dial: func(context.Context) (perf.Target, error) { return perf.Connect(form) }})
			if err == nil {
				require.Len(t, rep.Levels[0].Profile.Requests, 20)
			}
			return err
		}
		require.NoError(t, run("numbers", steps))
		require.NoError(t, run("floats", `{"data":[{"INPUT0":[0.1,-1e30]}],"validation_data":[{"OUTPUT0":[0.1,-1e30]}]}`))
		require.NoError(t, run("text", `{"data":[{"INPUT0":{"content":["a\"","ü\n"],"shape":[2]}}],"validation_data":[{"OUTPUT0":{"content":["a\"","ü\n"],"shape":[2]}}]}`))
		require.NoError(t, run("sum", `{"data":[[{"INPUT":[1]},{"INPUT":[2]}]],"validation_data":[[{"OUTPUT":[1]},{"OUTPUT":[3]}]]}`))
		err := run("halves", `{"data":[{"INPUT0":[1]}]}`)
		if form.JSONInputs {
			require.EqualError(t, err, `Failed to init manager inputs: input "INPUT0": JSON has no FP16 numbers`)
		} else {
			var failed *perf.LoadError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, failed.Failures[0].Err, "sending FP16 data via JSON is not supported")
		}
	}
}
