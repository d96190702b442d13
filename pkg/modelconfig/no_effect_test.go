package modelconfig_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
)

func TestNoEffect(t *testing.T) {
	t.Parallel()
	const optimization = `optimization { priority: PRIORITY_MAX cuda { graphs: true } gather_kernel_buffer_threshold: 1 eager_batching: true
graph { level: 1 } input_pinned_memory { enable: false } } `
	for name, test := range map[string]struct {
		config string
		want   []string
	}{
		"nothing set": {`backend: "onnxruntime" instance_group { count: 2 } `, nil},
		"a model": {`cc_model_filenames { key: "7.5" value: "x" } instance_group { secondary_devices { } host_policy: "p" } ` + optimization, []string{
			"instance_group[0].secondary_devices has no effect: only TensorRT models use it",
			"optimization.priority has no effect: only TensorRT models use it",
			"optimization.cuda has no effect: only TensorRT models use it",
			"optimization.gather_kernel_buffer_threshold has no effect: inputs are gathered in memory of the host",
			"optimization.eager_batching has no effect: only TensorRT models use it",
		}},
		"a model of TensorRT":  {`backend: "tensorrt" ` + optimization, nil},
		"sequences":            {`sequence_batching { } instance_group { host_policy: "p" }`, nil},
		"a model of a backend": {`runtime: "x" batch_input { } batch_output { } model_operations { } default_model_filename: "x" model_transaction_policy { decoupled: true }`, nil},
		"an ensemble": {`runtime: "x" batch_input { } batch_output { } model_operations { } default_model_filename: "x" cc_model_filenames { key: "7.5" value: "x" }
model_transaction_policy { decoupled: true } input { allow_ragged_batch: true optional: true } ensemble_scheduling { step { model_namespace: "x" } }`, []string{
			"input[0].allow_ragged_batch has no effect: an ensemble does not batch; set it for the composing models",
			"default_model_filename has no effect: an ensemble has no backend; set it for the composing models",
			"cc_model_filenames has no effect: an ensemble has no backend; set it for the composing models",
			"model_operations has no effect: an ensemble has no backend; set it for the composing models",
			"model_transaction_policy has no effect: an ensemble is decoupled if a composing model is",
			"batch_input has no effect: an ensemble has no backend; set it for the composing models",
			"batch_output has no effect: an ensemble has no backend; set it for the composing models",
			"runtime has no effect: an ensemble has no backend; set it for the composing models",
			"ensemble_scheduling.step[0].model_namespace has no effect: the server finds the namespace of the model",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := modelconfig.Parse("config.pbtxt", []byte(test.config))
			require.NoError(t, err)
			var got []string
			for _, f := range c.NoEffect() {
				require.NotZero(t, f.Pos.Line, f.Path)
				got = append(got, f.Msg)
			}
			require.Equal(t, test.want, got)
		})
	}
}

// TestNoEffectOfDetection: what the search for the backend adds is not the author's.
func TestNoEffectOfDetection(t *testing.T) {
	t.Parallel()
	c, err := modelconfig.Parse("config.pbtxt", []byte(`ensemble_scheduling { step { model_name: "a" } }`))
	require.NoError(t, err)
	require.NoError(t, c.Detect("e", fstest.MapFS{"1/model.onnx": {}}))
	require.Equal(t, "model.onnx", c.DefaultModelFilename)
	require.Empty(t, c.NoEffect())
}
