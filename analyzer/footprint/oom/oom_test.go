package oom_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/footprint/oom"
	"triton/analyzer/trial"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		evidence oom.Evidence
		want     trial.Class
	}{
		{oom.Evidence{Text: "load failed for model 'm': version 1 is at UNAVAILABLE state: Unavailable: can not create model 'm': memory limit set for GPU 0 has exceeded, model loading is rejected.", GPU: true}, trial.MemoryLimit},
		{oom.Evidence{Text: "onnx runtime error 6: CUDA failure 2: out of memory ; GPU=0", GPU: true}, trial.OutOfGPUMemoryAtLoad},
		{oom.Evidence{Text: "CUDA_ERROR_OUT_OF_MEMORY", Loaded: true}, trial.OutOfGPUMemoryAtRun},
		{oom.Evidence{Text: "bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 268435456", Loaded: true, GPU: true}, trial.OutOfGPUMemoryAtRun},
		{oom.Evidence{Text: "cudnn_frontend: CUDNN_STATUS_ALLOC_FAILED", Loaded: true, GPU: true}, trial.OutOfGPUMemoryAtRun},
		{oom.Evidence{Text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"}, trial.OutOfGPUMemoryAtLoad},
		{oom.Evidence{Text: "what(): std::bad_alloc", GPU: true}, trial.OutOfHostMemory},
		{oom.Evidence{Text: "MemoryError: Unable to allocate 8.00 GiB for an array"}, trial.OutOfHostMemory},
		{oom.Evidence{Text: "the server ended by itself (signal: killed)", Kills: 1}, trial.OutOfHostMemory},
		{oom.Evidence{Text: "the server ended by itself (signal: killed)"}, trial.Other},
		{oom.Evidence{Text: "connection reset", Kills: 1, Loaded: true, GPU: true}, trial.OutOfHostMemory},
		{oom.Evidence{Text: "unexpected shape for input 'x'", Loaded: true, GPU: true}, trial.Other},
		{oom.Evidence{}, trial.Other},
	} {
		got := oom.Classify(c.evidence)
		require.Equal(t, c.want, got, c.evidence.Text)
		require.Equal(t, c.want != trial.Other, got.Memory())
	}
}
