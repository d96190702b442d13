package server

import (
	"errors"
	"log/slog"

	"triton/pkg/gpu"
)

// gpus is the machine's GPUs; view is nil when there are none.
type gpus struct{ view gpu.View }

func openGPUs(log *slog.Logger) gpus {
	view, err := gpu.Open()
	if err != nil {
		if !errors.Is(err, gpu.ErrNoDriver) {
			log.Warn("GPUs cannot be used", "error", err)
		}
		return gpus{}
	}
	return gpus{view}
}

func (g gpus) devices() []gpu.Device {
	if g.view == nil {
		return nil
	}
	return g.view.Devices()
}

func (g gpus) indices() []int32 {
	var all []int32
	for _, d := range g.devices() {
		all = append(all, int32(d.Index))
	}
	return all
}

func (g gpus) close() {
	if g.view != nil {
		_ = g.view.Close()
	}
}
