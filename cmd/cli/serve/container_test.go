package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
)

// usual is what a container with one model gets without further variables.
const usual = " --model-namespacing=true --allow-grpc=false --allow-metrics=false --log-verbose=true " +
	"--backend-config=python,shm-default-byte-size=16777216 --backend-config=python,shm-growth-byte-size=1048576"

func TestContainer(t *testing.T) {
	t.Parallel()
	const start = "--allow-sagemaker=true --allow-http=false --model-control-mode=explicit --model-repository="
	for _, c := range []struct {
		name, files, environ string
		args, more, err      string
	}{
		{
			name: "one model", files: "simple/config.pbtxt",
			args: start + "MODEL" + usual + " --load-model=simple",
			more: "SAGEMAKER_TRITON_PING_MODE=ready SAGEMAKER_TRITON_DEFAULT_MODEL_NAME=simple",
		},
		{
			name: "a named model", files: "a/config.pbtxt b/config.pbtxt",
			environ: "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME=b SAGEMAKER_TRITON_OVERRIDE_PING_MODE=live SAGEMAKER_TRITON_INFERENCE_TYPE=generate",
			args:    start + "MODEL" + usual + " --load-model=b",
			more:    "SAGEMAKER_TRITON_PING_MODE=live SAGEMAKER_TRITON_DEFAULT_MODEL_NAME=b",
		},
		{
			name: "several models", environ: "SAGEMAKER_MULTI_MODEL=true",
			args: start + "MANY" + usual, more: "SAGEMAKER_TRITON_PING_MODE=live",
		},
		{
			name: "all variables", files: "m/config.pbtxt",
			environ: "SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING=false SAGEMAKER_BIND_TO_PORT=9000 SAGEMAKER_SAFE_PORT_RANGE=9000-9010 " +
				"SAGEMAKER_TRITON_ALLOW_GRPC=true SAGEMAKER_TRITON_ALLOW_METRICS=true SAGEMAKER_TRITON_METRICS_PORT=9001 SAGEMAKER_TRITON_GRPC_PORT=9002 " +
				"SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT=1 SAGEMAKER_TRITON_THREAD_COUNT=2 SAGEMAKER_TRITON_LOG_VERBOSE=0 SAGEMAKER_TRITON_LOG_INFO=0 " +
				"SAGEMAKER_TRITON_LOG_WARNING=1 SAGEMAKER_TRITON_LOG_ERROR=1 SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE=3 SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE=4 " +
				"SAGEMAKER_TRITON_TENSORFLOW_VERSION=2 SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT=0.8 SAGEMAKER_TRITON_ADDITIONAL_ARGS=--id=x",
			args: start + "MODEL --model-namespacing=false --sagemaker-port=9000 --sagemaker-safe-port-range=9000-9010 --allow-grpc=true --allow-metrics=true " +
				"--metrics-port=9001 --grpc-port=9002 --buffer-manager-thread-count=1 --sagemaker-thread-count=2 --log-verbose=0 --log-info=0 --log-warning=1 " +
				"--log-error=1 --backend-config=python,shm-default-byte-size=3 --backend-config=python,shm-growth-byte-size=4 --backend-config=tensorflow,version=2 " +
				"--model-load-gpu-limit=0:0.8 --model-load-gpu-limit=1:0.8 --id=x --load-model=m",
			more: "SAGEMAKER_TRITON_PING_MODE=ready SAGEMAKER_TRITON_DEFAULT_MODEL_NAME=m",
		},
		{name: "no model", err: "ERROR: No model found in model repository"},
		{
			name: "too many models", files: "a/config.pbtxt b/config.pbtxt",
			err: "ERROR: More than 1 model directory found in model repository.\n" +
				"       Either provide a single directory or set SAGEMAKER_TRITON_DEFAULT_MODEL_NAME to run the ensemble backend.\n" +
				"       Directories found in model repository: a b",
		},
		{name: "the model itself", files: "config.pbtxt", err: "ERROR: Incorrect directory structure.\n       Model directory needs to contain the top level folder"},
		{
			name: "a model that is not there", environ: "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME=c",
			err: "ERROR: Directory with provided SAGEMAKER_TRITON_DEFAULT_MODEL_NAME c does not exist",
		},
		{
			name: "an odd type", environ: "SAGEMAKER_TRITON_INFERENCE_TYPE=guess",
			err: "ERROR: Invalid SAGEMAKER_TRITON_INFERENCE_TYPE 'guess'\n       Must be one of: infer, generate, generate_stream",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			model, many := filepath.Join(dir, "model"), filepath.Join(dir, "many")
			for _, file := range strings.Fields(c.files) {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(model, file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(model, file), nil, 0o644))
			}
			p := process.Process{Environ: strings.Fields(c.environ)}
			args, environ, err := container{p.Getenv, model, many, func() []int { return []int{0, 1} }}.arguments()
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			got := strings.NewReplacer(model, "MODEL", many, "MANY").Replace(strings.Join(args, " "))
			require.Equal(t, c.args, got)
			require.Equal(t, c.more, strings.Join(environ, " "))
		})
	}
}
