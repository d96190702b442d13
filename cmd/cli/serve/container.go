package serve

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/gpu"
)

// container is the environment of an Amazon SageMaker container, which runs the program
// "serve" and configures it by environment variables.
type container struct {
	getenv func(string) string
	// singleDir is the model repository of an endpoint with one model. multiDir is that of
	// a multi-model endpoint; it stays empty.
	singleDir, multiDir string
	gpus                func() []int // CUDA ordinals
}

// InContainer returns p as a call of `tritonserver` whose arguments come from the
// environment variables of a SageMaker container.
func InContainer(p process.Process) (process.Process, error) {
	c := container{p.Getenv, "/opt/ml/model/", "/tmp/sagemaker", func() []int { return ordinals(machine.GPUs(p, nil)) }}
	args, environ, err := c.arguments()
	if err != nil {
		return p, err
	}
	p.Args = append(append([]string{"tritonserver"}, args...), p.Args[1:]...)
	p.Environ = append(p.Environ[:len(p.Environ):len(p.Environ)], environ...)
	return p, nil
}

// ordinals returns the CUDA ordinals of the visible GPUs.
func ordinals(e gpu.Environment) (all []int) {
	view, err := gpu.Open(e)
	if err != nil {
		return nil
	}
	defer view.Close()
	for _, d := range view.Devices() {
		all = append(all, d.Index)
	}
	return all
}

// containerFlags maps environment variables to flags. An unset variable has the fallback as
// its value; a flag with an empty value is left out.
var containerFlags = []struct{ name, flag, fallback string }{
	{"SAGEMAKER_TRITON_DISABLE_MODEL_NAMESPACING", "--model-namespacing=", "true"},
	{"SAGEMAKER_BIND_TO_PORT", "--sagemaker-port=", ""},
	{"SAGEMAKER_SAFE_PORT_RANGE", "--sagemaker-safe-port-range=", ""},
	{"SAGEMAKER_TRITON_ALLOW_GRPC", "--allow-grpc=", "false"},
	{"SAGEMAKER_TRITON_ALLOW_METRICS", "--allow-metrics=", "false"},
	{"SAGEMAKER_TRITON_METRICS_PORT", "--metrics-port=", ""},
	{"SAGEMAKER_TRITON_GRPC_PORT", "--grpc-port=", ""},
	{"SAGEMAKER_TRITON_BUFFER_MANAGER_THREAD_COUNT", "--buffer-manager-thread-count=", ""},
	{"SAGEMAKER_TRITON_THREAD_COUNT", "--sagemaker-thread-count=", ""},
	{"SAGEMAKER_TRITON_LOG_VERBOSE", "--log-verbose=", "true"},
	{"SAGEMAKER_TRITON_LOG_INFO", "--log-info=", ""},
	{"SAGEMAKER_TRITON_LOG_WARNING", "--log-warning=", ""},
	{"SAGEMAKER_TRITON_LOG_ERROR", "--log-error=", ""},
	{"SAGEMAKER_TRITON_SHM_DEFAULT_BYTE_SIZE", "--backend-config=python,shm-default-byte-size=", "16777216"},
	{"SAGEMAKER_TRITON_SHM_GROWTH_BYTE_SIZE", "--backend-config=python,shm-growth-byte-size=", "1048576"},
	{"SAGEMAKER_TRITON_TENSORFLOW_VERSION", "--backend-config=tensorflow,version=", ""},
}

// arguments returns the arguments of serve and the variables for the SageMaker frontend.
func (c container) arguments() (args, environ []string, err error) {
	many := c.getenv("SAGEMAKER_MULTI_MODEL") == "true"
	repository, ping := c.singleDir, "ready"
	if many {
		repository, ping = c.multiDir, "live"
		if err := os.MkdirAll(repository, 0o755); err != nil {
			return nil, nil, err
		}
	}
	if mode := c.getenv("SAGEMAKER_TRITON_OVERRIDE_PING_MODE"); mode != "" {
		ping = mode
	}
	args = []string{"--allow-sagemaker=true", "--allow-http=false", "--model-control-mode=explicit", "--model-repository=" + repository}
	for _, f := range containerFlags {
		if v := cmp.Or(c.getenv(f.name), f.fallback); v != "" {
			args = append(args, f.flag+v)
		}
	}
	if limit := c.getenv("SAGEMAKER_TRITON_MODEL_LOAD_GPU_LIMIT"); limit != "" {
		for _, i := range c.gpus() {
			args = append(args, fmt.Sprintf("--model-load-gpu-limit=%d:%s", i, limit))
		}
	}
	args = append(args, strings.Fields(c.getenv("SAGEMAKER_TRITON_ADDITIONAL_ARGS"))...)
	environ = []string{"SAGEMAKER_TRITON_PING_MODE=" + ping}
	if err := c.checkType(); err != nil || many {
		return args, environ, err
	}
	name, err := c.singleModel()
	return append(args, "--load-model="+name), append(environ, "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME="+name), err
}

func (c container) checkType() error {
	kind := c.getenv("SAGEMAKER_TRITON_INFERENCE_TYPE")
	if kind == "" || slices.Contains([]string{"infer", "generate", "generate_stream"}, kind) {
		return nil
	}
	return tritonErrorf("ERROR: Invalid SAGEMAKER_TRITON_INFERENCE_TYPE '%s'\n       Must be one of: infer, generate, generate_stream", kind)
}

// singleModel returns the model of an endpoint with one model: the one that the environment
// names, else the only one in the folder.
func (c container) singleModel() (string, error) {
	if _, err := os.Stat(filepath.Join(c.singleDir, "config.pbtxt")); err == nil {
		return "", tritonErrorf("ERROR: Incorrect directory structure.\n       Model directory needs to contain the top level folder")
	}
	if name := c.getenv("SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"); name != "" {
		if info, err := os.Stat(filepath.Join(c.singleDir, name)); err != nil || !info.IsDir() {
			return "", tritonErrorf("ERROR: Directory with provided SAGEMAKER_TRITON_DEFAULT_MODEL_NAME %s does not exist", name)
		}
		return name, nil
	}
	entries, err := os.ReadDir(c.singleDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	switch len(names) {
	case 0:
		return "", tritonErrorf("ERROR: No model found in model repository")
	case 1:
		return names[0], nil
	}
	return "", tritonErrorf("ERROR: More than 1 model directory found in model repository.\n"+
		"       Either provide a single directory or set SAGEMAKER_TRITON_DEFAULT_MODEL_NAME to run the ensemble backend.\n"+
		"       Directories found in model repository: %s", strings.Join(names, " "))
}
