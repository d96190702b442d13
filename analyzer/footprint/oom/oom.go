// Package oom tells a lack of memory from other failures of a server, by the texts of CUDA, ONNX
// Runtime, Python and Triton, and by what the kernel killed.
package oom

import (
	"strings"

	"triton/analyzer/trial"
)

// texts are what the engines and the server write, in lower case.
var texts = []string{
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

// onDevice are those that only a GPU's memory has.
var onDevice = []string{"cuda", "cublas", "cudnn", "gpu", "bfc_arena", "bfcarena"}

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

// Classify returns the class of a failure.
func Classify(e Evidence) trial.Class {
	text := strings.ToLower(e.Text)
	switch {
	case strings.Contains(text, "memory limit set for") && strings.Contains(text, "has exceeded"):
		return trial.MemoryLimit
	case e.Kills > 0:
		return trial.OutOfHostMemory
	case contains(text, texts) && (e.GPU || contains(text, onDevice)):
		if e.GPU && !contains(text, onDevice) && hostOnly(text) {
			return trial.OutOfHostMemory
		}
		if e.Loaded {
			return trial.OutOfGPUMemoryAtRun
		}
		return trial.OutOfGPUMemoryAtLoad
	case contains(text, texts):
		return trial.OutOfHostMemory
	}
	return trial.Other
}

// hostOnly reports a text that only host memory has.
func hostOnly(text string) bool {
	return contains(text, []string{"std::bad_alloc", "memoryerror", "cannot allocate memory"})
}

func contains(text string, any []string) bool {
	for _, t := range any {
		if strings.Contains(text, t) {
			return true
		}
	}
	return false
}
