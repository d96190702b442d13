package doctor

import (
	"context"
	"errors"

	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/gpu"
	"triton/pkg/ui"
)

func gpus(_ context.Context, p process.Process, _ options) []Finding {
	const check = "GPUs"
	if machine.CPUOnly(p) {
		return []Finding{about(check, Note, "TRITON_SERVER_CPU_ONLY is set: none is used")}
	}
	machine, err := gpu.Open(machine.GPUs(p, nil))
	if errors.Is(err, gpu.ErrNoDriver) {
		return []Finding{about(check, Note, "no NVIDIA driver: models run on processors")}
	}
	if err != nil {
		return []Finding{about(check, Failure, "the driver does not answer").do("%v", err)}
	}
	defer machine.Close()
	return inventory(machine.Inventory(), len(machine.Devices()))
}

// inventory returns the findings of a machine with a driver, whose CUDA shows some of the devices.
func inventory(all gpu.Inventory, shown int) []Finding {
	const check = "GPUs"
	f := about(check, OK, "%s, driver %s, CUDA up to %s", ui.Plural(len(all.GPUs), "GPU"), all.Driver, all.CUDA)
	switch {
	case len(all.GPUs) == 0 && len(all.Unreadable) == 0:
		f.State = Warning
		f = f.do("there is a driver but no device: in a container, start it with GPUs (\"--gpus all\", or the resource nvidia.com/gpu)")
	case shown == 0:
		f.State = Warning
		f = f.do("CUDA shows none of them to this process: look at CUDA_VISIBLE_DEVICES")
	}
	found := []Finding{f}
	for _, text := range all.Unreadable {
		found = append(found, about(check, Failure, "%s", text).do("look at the log of the kernel for errors of the device (\"dmesg\", Xid), and at the rights of /dev/nvidia*"))
	}
	return found
}
