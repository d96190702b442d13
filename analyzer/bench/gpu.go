package bench

import (
	"context"

	"triton/analyzer/trial"
	"triton/pkg/gpu"
)

const megabyte = 1e6 // memory is in decimal megabytes, as in Model Analyzer

// ReadGPUs returns a reader of devices through their driver.
func ReadGPUs(view gpu.View, devices []gpu.Device) func(context.Context) (Reading, error) {
	return func(context.Context) (Reading, error) {
		r := Reading{GPUs: make(map[string]trial.Values, len(devices))}
		for _, d := range devices {
			now, v := view.Read(d), trial.Values{}
			if m := now.MemoryUsed; m.Known {
				v[trial.GPUUsedMemory] = float64(m.Value) / megabyte
			}
			if m := now.MemoryTotal; m.Known {
				v[trial.GPUTotalMemory] = float64(m.Value) / megabyte
			}
			if now.Utilization.Known {
				v[trial.GPUUtilization] = 100 * now.Utilization.Value
			}
			if now.Power.Known {
				v[trial.GPUPower] = now.Power.Value
			}
			if len(v) > 0 {
				r.GPUs[d.UUID] = v
			}
		}
		return r, nil
	}
}
