package isolated

import (
	"os/exec"
	"path"
	"slices"
	"strings"
)

// passed are the variables that a child gets: what the dynamic linker, the C library, Go, the engines, CUDA
// and their pools of threads read. The rest of the server's environment, such as credentials of model
// stores, is not for models.
var passed = []string{
	"PATH", "HOME", "USER", "TMPDIR", "LANG", "LC_*", "TZ", "TZDIR", "HOSTNAME", "XDG_CACHE_HOME",
	"LD_*", "GLIBC_*", "MALLOC_*", "ASAN_OPTIONS", "TSAN_OPTIONS",
	"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR", "CUDA_*", "NVIDIA_*", "NCCL_*", "TF_*", "XLA_*", "TORCH_*", "PYTORCH_*", "ORT_*", "OV_*", "OPENVINO_*",
	"OMP_*", "KMP_*", "MKL_*", "OPENBLAS_*", "DNNL_*", "ONEDNN_*", "TRITON_ONNXRUNTIME_LIBRARY",
}

// environment returns the variables of a child: those of this process whose name matches a pattern.
func environment(all, more []string) []string {
	patterns := slices.Concat(passed, more)
	kept := []string{} // not nil, which would be all
	for _, variable := range all {
		name, _, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil }) {
			kept = append(kept, variable)
		}
	}
	return kept
}

// current returns the variables of this process.
func current() []string { return (&exec.Cmd{}).Environ() }
