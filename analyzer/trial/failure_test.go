package trial_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		evidence trial.Evidence
		want     trial.Class
	}{
		{trial.Evidence{Text: "load failed for model 'm': version 1 is at UNAVAILABLE state: Unavailable: can not create model 'm': memory limit set for GPU 0 has exceeded, model loading is rejected.", GPU: true}, trial.MemoryLimit},
		{trial.Evidence{Text: "onnx runtime error 6: CUDA failure 2: out of memory ; GPU=0", GPU: true}, trial.OutOfGPUMemoryAtLoad},
		{trial.Evidence{Text: "CUDA_ERROR_OUT_OF_MEMORY", Loaded: true}, trial.OutOfGPUMemoryAtRun},
		{trial.Evidence{Text: "bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 268435456", Loaded: true, GPU: true}, trial.OutOfGPUMemoryAtRun},
		{trial.Evidence{Text: "cudnn_frontend: CUDNN_STATUS_ALLOC_FAILED", Loaded: true, GPU: true}, trial.OutOfGPUMemoryAtRun},
		{trial.Evidence{Text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"}, trial.OutOfGPUMemoryAtLoad},
		{trial.Evidence{Text: "what(): std::bad_alloc", GPU: true}, trial.OutOfHostMemory},
		{trial.Evidence{Text: "MemoryError: Unable to allocate 8.00 GiB for an array"}, trial.OutOfHostMemory},
		{trial.Evidence{Text: "the server ended by itself (signal: killed)", Kills: 1}, trial.OutOfHostMemory},
		{trial.Evidence{Text: "the server ended by itself (signal: killed)"}, trial.Other},
		{trial.Evidence{Text: "connection reset", Kills: 1, Loaded: true, GPU: true}, trial.OutOfHostMemory},
		{trial.Evidence{Text: "unexpected shape for input 'x'", Loaded: true, GPU: true}, trial.Other},
		{trial.Evidence{}, trial.Other},
	} {
		got := trial.ClassifyFailure(c.evidence)
		require.Equal(t, c.want, got, c.evidence.Text)
		require.Equal(t, c.want != trial.Other, got.Memory())
	}
}
