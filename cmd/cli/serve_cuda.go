package cli

import (
	"fmt"

	"triton/pkg/cuda"
	"triton/server"
)

// openCUDA is the GPUs whose memory clients may register; nil when they may not,
// or there are none.
func openCUDA(w World, opts *server.Options) cuda.Driver {
	if !opts.ClientMemory || w.Getenv("TRITON_SERVER_CPU_ONLY") != "" {
		return nil
	}
	d, err := cuda.Open()
	if err != nil {
		opts.Log.Info(fmt.Sprintf("CUDA shared memory cannot be registered: %s", err))
		return nil
	}
	return d
}
