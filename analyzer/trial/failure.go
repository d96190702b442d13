// A lack of memory is told from other failures of a server by the texts of CUDA, ONNX Runtime, Python and
// Triton, and by what the kernel killed.

package trial

import (
	"slices"
	"strings"
)

// memoryTexts are what the engines and the server write, in lower case.
var memoryTexts = []string{
	"cudaerrormemoryallocation",
	"cuda_error_out_of_memory",
	"cuda out of memory",
	"cublas_status_alloc_failed",
	"cudnn_status_alloc_failed",
	"cuda failure 2",
	"out of memory",
	"failed to allocate memory for requested buffer of size",
	"bfc_arena",
	"bfcarena",
	"std::bad_alloc",
	"unable to allocate",
	"cannot allocate memory",
	"memoryerror",
}

// deviceTexts are those that only a GPU's memory has.
var deviceTexts = []string{"cuda", "cublas", "cudnn", "gpu", "bfc_arena", "bfcarena"}

// Evidence is what is known of a failure.
type Evidence struct {
	Text string // errors and the end of the log
	// Kills is how many processes the kernel killed for lack of memory meanwhile.
	Kills uint64
	// Loaded is set if the model had been loaded.
	Loaded bool
	// GPU is set if the model runs on a GPU.
	GPU bool
}

// ClassifyFailure returns the class of a failure.
func ClassifyFailure(e Evidence) Class {
	text := strings.ToLower(e.Text)
	switch {
	case strings.Contains(text, "memory limit set for") && strings.Contains(text, "has exceeded"):
		return MemoryLimit
	case e.Kills > 0:
		return OutOfHostMemory
	case containsAny(text, memoryTexts) && (e.GPU || containsAny(text, deviceTexts)):
		if e.GPU && !containsAny(text, deviceTexts) && hostOnly(text) {
			return OutOfHostMemory
		}
		if e.Loaded {
			return OutOfGPUMemoryAtRun
		}
		return OutOfGPUMemoryAtLoad
	case containsAny(text, memoryTexts):
		return OutOfHostMemory
	}
	return Other
}

// hostOnly reports a text that only host memory has.
func hostOnly(text string) bool {
	return containsAny(text, []string{"std::bad_alloc", "memoryerror", "cannot allocate memory"})
}

func containsAny(text string, any []string) bool {
	return slices.ContainsFunc(any, func(t string) bool { return strings.Contains(text, t) })
}
