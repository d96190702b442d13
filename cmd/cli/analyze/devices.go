// `triton analyze devices` prints the GPUs of the machine, their MIG
// instances and processes, and which readings of memory work on them.

package analyze

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/gpu"
	"triton/pkg/ui"
)

var devicesForms = []flags.Form{flags.TextForm, flags.JSONForm}

// devicesArguments holds what the flags set.
type devicesArguments struct {
	output flags.Output
	known  bool
}

// devicesResult is what JSON has.
type devicesResult struct {
	gpu.Inventory
	// Reason is why there are no GPUs.
	Reason string `json:"reason,omitempty"`
}

// newDevices returns `triton analyze devices`.
func newDevices(p process.Process) *cobra.Command { return newDevicesOf(p, readInventory) }

// newDevicesOf is newDevices over any way to read the GPUs.
func newDevicesOf(p process.Process, read func(gpu.Environment) (gpu.Inventory, error)) *cobra.Command {
	var a devicesArguments
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the GPUs, their MIG instances, and which readings of memory work",
		Long: `List the NVIDIA GPUs of this machine as the driver describes them: memory, MIG
instances, processes, and for each device which readings work and why others do not.
The number in column CUDA is the one that instance groups and clients use; a GPU
without one is hidden from this process, for example by CUDA_VISIBLE_DEVICES.

Nothing is changed on a device and nothing runs on it. A machine without GPUs is no
error: the exit code is 0, and the output says why there are none.`,
		Example: `  triton analyze devices
  triton analyze devices --output json
  triton analyze devices --known`,
		Args: flags.NoArguments,
	}
	f := flags.New(p, "analyze devices", cmd.Flags())
	a.output.Bind(f, devicesForms)
	f.BoolVar(&a.known, "known", false, "list the GPUs that other commands can assume, and what they can be divided into")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return process.UsageError("%w", flags.Suggest(f, err)) })
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := f.FillCommand(""); err != nil {
			return err
		}
		targets, err := a.output.Targets(devicesForms)
		if err != nil {
			return process.UsageError("%w", err)
		}
		if len(targets) == 0 {
			targets = flags.OutputTargets{{Form: flags.TextForm.Name, File: "-"}}
		}
		if a.known {
			return targets.Write(p, writeKnown)
		}
		r, err := findDevices(p, read)
		if err != nil {
			return err
		}
		return targets.Write(p, func(w io.Writer, form string) error { return writeDevices(w, form, r) })
	}
	return cmd
}

// readInventory reads the GPUs of this machine.
func readInventory(e gpu.Environment) (gpu.Inventory, error) {
	m, err := gpu.Open(e)
	if err != nil {
		return gpu.Inventory{}, err
	}
	defer m.Close()
	return m.Inventory(), nil
}

// findDevices reads the GPUs. A machine that has none has a reason.
func findDevices(p process.Process, read func(gpu.Environment) (gpu.Inventory, error)) (devicesResult, error) {
	e := machine.GPUs(p, nil)
	e.Warn = func(text string) { _ = ui.WriteLine(p.Stderr, "warning: "+text) }
	v, err := read(e)
	switch {
	case errors.Is(err, gpu.ErrNoDriver):
		return devicesResult{gpu.Inventory{GPUs: []gpu.GPU{}}, err.Error()}, nil
	case err != nil:
		return devicesResult{}, fmt.Errorf("read the GPUs: %w", err)
	case len(v.GPUs) == 0:
		return devicesResult{v, "the driver shows no GPU"}, nil
	}
	return devicesResult{v, ""}, nil
}

func writeDevices(w io.Writer, form string, r devicesResult) error {
	if form == flags.JSONForm.Name {
		return flags.WriteJSON(w, r)
	}
	return devicesText(w, r)
}

// writeKnown lists the catalog.
func writeKnown(w io.Writer, form string) error {
	var all []gpu.AssumedDevice
	for _, name := range gpu.KnownNames() {
		d, err := gpu.Assume(name)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	if form == flags.JSONForm.Name {
		return flags.WriteJSON(w, knownJSON(all))
	}
	var rows [][]string
	for _, d := range all {
		rows = append(rows, []string{d.Name, ui.Bytes(float64(d.Total)), ui.Bytes(float64(d.Reserved)), profilesText(d.Profiles)})
	}
	return ui.Table(w, []ui.Column{
		{Title: "GPU"}, {Title: "Memory", Align: ui.Right}, {Title: "Reserved", Align: ui.Right}, {Title: "MIG instances: how many fit"},
	}, rows)
}

// knownDevice is a GPU of the catalog in JSON.
type knownDevice struct {
	Name     string        `json:"name"`
	Total    uint64        `json:"memory_total"`
	Reserved uint64        `json:"memory_reserved"`
	Profiles []gpu.Profile `json:"profiles,omitempty"`
}

func knownJSON(all []gpu.AssumedDevice) []knownDevice {
	out := make([]knownDevice, len(all))
	for i, d := range all {
		out[i] = knownDevice{d.Name, d.Total, d.Reserved, d.Profiles}
	}
	return out
}
