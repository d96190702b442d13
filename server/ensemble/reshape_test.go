package ensemble

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// reshaped is an ensemble of the step A whose input and output have the given
// settings.
func reshaped(batch, in, out string) string {
	return "max_batch_size: " + batch + ` input { name: "IN" data_type: TYPE_INT32 ` + in + ` } output { name: "OUT" data_type: TYPE_INT32 ` + out + ` }
ensemble_scheduling { step { model_name: "A" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } }`
}

// TestReshape checks the shapes that the client and the step see when the ensemble's own tensors
// have a reshape. Shapes and errors are those of NVIDIA's server, except for an output that does
// not fit its reshape: NVIDIA's server returns the configured shape with data of another size.
func TestReshape(t *testing.T) {
	t.Parallel()
	const square, flat = "dims: [ 2, 2 ] reshape { shape: [ 4 ] }", "dims: [ 4 ] reshape { shape: [ 2, 2 ] }"
	for name, test := range map[string]struct {
		config string
		model  *fake
		shape  tensor.Shape
		got    string
		saw    string
	}{
		"both sides": {
			config: reshaped("4", square, square), model: batching(one("A", 0), 4, 4), shape: tensor.Shape{1, 2, 2},
			got: "OUT[1,2,2]=1,2,3,4", saw: "x IN[1,4],OUT" + tail,
		},
		"more dimensions inside": {
			config: reshaped("4", flat, flat), model: batching(one("A", 0), 4, 2, 2), shape: tensor.Shape{1, 4},
			got: "OUT[1,4]=1,2,3,4", saw: "x IN[1,2,2],OUT" + tail,
		},
		"the input only": {
			config: reshaped("4", square, "dims: [ 4 ]"), model: batching(one("A", 0), 4, 4), shape: tensor.Shape{1, 2, 2},
			got: "OUT[1,4]=1,2,3,4", saw: "x IN[1,4],OUT" + tail,
		},
		"the output only": {
			config: reshaped("4", "dims: [ 4 ]", square), model: batching(one("A", 0), 4, 4), shape: tensor.Shape{1, 4},
			got: "OUT[1,2,2]=1,2,3,4", saw: "x IN[1,4],OUT" + tail,
		},
		"dimensions that vary": {
			config: reshaped("4", "dims: [ -1, 2, 1 ] reshape { shape: [ -1, 2 ] }", "dims: [ 1, -1, 2 ] reshape { shape: [ -1, 2 ] }"),
			model:  batching(one("A", 0), 4, -1, 2), shape: tensor.Shape{1, 2, 2, 1},
			got: "OUT[1,1,2,2]=1,2,3,4", saw: "x IN[1,2,2],OUT" + tail,
		},
		"without batches": {
			config: reshaped("0", square, square), model: shaped(one("A", 0), 4), shape: tensor.Shape{2, 2},
			got: "OUT[2,2]=1,2,3,4", saw: "x IN[4],OUT" + tail,
		},
		"batches in the step only": {
			config: reshaped("0", square, square), model: batching(one("A", 0), 4, 4), shape: tensor.Shape{2, 2},
			got: "OUT[2,2]=1,2,3,4", saw: "x IN[1,4],OUT" + tail,
		},
		"batches in the ensemble only": {
			config: reshaped("4", square, square), model: shaped(one("A", 0), 4), shape: tensor.Shape{1, 2, 2},
			got: "OUT[1,2,2]=1,2,3,4", saw: "x IN[4],OUT" + tail,
		},
		"an output that does not fit": {
			config: reshaped("4", "dims: [ -1 ]", "dims: [ 4, 4 ] reshape { shape: [ 16 ] }"), model: batching(one("A", 0), 4, -1), shape: tensor.Shape{1, 4},
			got: "Internal: in ensemble 'e', unexpected shape [1,4] of output 'OUT': its reshape is configured for [-1,16]", saw: "x IN[1,4],OUT" + tail,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := build(t, test.config, test.model)
			rows := 0
			if r.opts.Config.GetMaxBatchSize() > 0 {
				rows = 1
			}
			q := r.request(rows, "IN=1,2,3,4")
			q.ID, q.Inputs[0].Shape = "x", test.shape
			resp, err := r.Infer(context.Background(), q)
			if err != nil {
				resp = failed(err)
			}
			require.Equal(t, test.got, shown(resp))
			require.Equal(t, []string{test.saw}, r.models["A"].saw)
			resp.Release()
			q.Release()
			r.close(t)
		})
	}
}

// TestReshapeOfEveryResponse: each response of a decoupled step gets the shape, and
// one that does not fit ends the request with an error.
func TestReshapeOfEveryResponse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ out, got string }{
		"fits":         {"dims: [ 1, 1 ] reshape { shape: [ 1 ] }", "OUT[1,1]=1| OUT[1,1]=2| final"},
		"does not fit": {"dims: [ 2, 1 ] reshape { shape: [ 2 ] }", "Internal: in ensemble 'e', unexpected shape [1] of output 'OUT': its reshape is configured for [2] final"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := repeat("A", 0)
			r := build(t, reshaped("0", "dims: [ -1 ]", test.out), open)
			to := newSink()
			q := r.request(0, "IN=1,2")
			q.Sink = to
			require.NoError(t, r.Submit(q))
			<-to.Done()
			var got []string
			for _, line := range to.Timeline() {
				_, text, _ := strings.Cut(line, ":")
				got = append(got, text)
			}
			require.Equal(t, test.got, strings.TrimSpace(strings.Join(got, "|")))
			q.Release()
			r.close(t)
		})
	}
}
