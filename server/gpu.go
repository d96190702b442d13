package server

import (
	"errors"
	"fmt"
	"log/slog"

	"triton/pkg/gpu"
)

// gpus holds the GPUs of this process; view is nil without GPUs. The server numbers GPUs by
// their CUDA ordinals.
type gpus struct{ view gpu.View }

func openGPUs(e gpu.Environment, log *slog.Logger) gpus {
	e.Warn = func(text string) { log.Warn(text) }
	view, err := gpu.Open(e)
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

// capability returns the CUDA compute capability of a device; empty if it is not known.
func (g gpus) capability(device int) string {
	for _, d := range g.devices() {
		if d.Index == device {
			return d.Capability
		}
	}
	return ""
}

// usage returns the fraction of a device's memory that is in use. Of a GPU in MIG mode that is
// the memory of the instance that the process has.
func (g gpus) usage(device int) (float64, error) {
	for _, d := range g.devices() {
		if d.Index != device {
			continue
		}
		r := g.view.Read(d)
		if d.Instance != "" {
			r = g.view.Read(gpu.Device{UUID: d.Instance})
		}
		if !r.MemoryUsed.Known || !r.MemoryTotal.Known || r.MemoryTotal.Value == 0 {
			return 0, fmt.Errorf("the memory of GPU %d cannot be read", device)
		}
		return float64(r.MemoryUsed.Value) / float64(r.MemoryTotal.Value), nil
	}
	return 0, fmt.Errorf("there is no GPU %d", device)
}

func (g gpus) close() {
	if g.view != nil {
		_ = g.view.Close()
	}
}
