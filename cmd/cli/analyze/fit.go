// `triton analyze fit`: from measurements of `triton analyze` it predicts how many
// instances of models other devices hold, which MIG profile suits a model, and how several models
// share devices. It runs nothing.

package analyze

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"triton/analyzer/memory"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/gpu"
)

// fitArguments holds what the flags set.
type fitArguments struct {
	from     []string
	assume   []string
	headroom string
	strict   bool
	output   flags.Output
}

var fitForms = []flags.Form{flags.TextForm, flags.JSONForm, flags.CSVForm, flags.MarkdownForm, flags.HTMLForm}

// nothingFits is the exit code with --strict.
const nothingFits = 1

// newFit returns `triton analyze fit`.
func newFit(p process.Process) *cobra.Command {
	var a fitArguments
	cmd := &cobra.Command{
		Use:   "fit --from REPORT [--assume-device DEVICE] [flags]",
		Short: "Predict how many instances of measured models devices hold",
		Long: `Read reports that triton analyze wrote as JSON and predict how many instances of
their models fit on devices: those of this machine, or those named with
--assume-device, such as a100-40gb, h100-80gb:1g.10gb or total=24GiB. For a GPU
that can be divided, each MIG profile is listed. Several reports are packed
together, on each device with one server.

Nothing is run: all counts are predictions. Those for another kind of GPU count
5 % more for each instance. triton analyze devices --known lists the known GPUs.`,
		Example: `  triton analyze -m resnet50 --model-repository models --json resnet50.json
  triton analyze fit --from resnet50.json --assume-device a100-40gb
  triton analyze fit --from resnet50.json --from bert.json --assume-device h100-80gb`,
		Args: flags.NoArguments,
	}
	f := flags.New(p, "analyze fit", cmd.Flags())
	f.StringArrayVar(&a.from, "from", nil, "report of triton analyze, as JSON; may be repeated; required")
	f.StringArrayVar(&a.assume, "assume-device", nil, "predict for this GPU or MIG instance; may be repeated (default: the devices of this machine)")
	f.StringVar(&a.headroom, "memory-headroom", "", "memory to keep free, in percent or as a size: 10, 10%, 1GiB (default: 5 %, at least 256 MiB)")
	f.BoolVar(&a.strict, "strict", false, "exit with code 1 if a model fits on no device")
	a.output.Bind(f, fitForms)
	flags.Complete(cmd, map[string]flags.Completion{
		"assume-device": flags.CompleteValues(gpu.KnownNames()...), "memory-headroom": flags.CompleteNothing,
		"output": flags.CompleteValues(strings.Fields(flags.FormNames(fitForms, " "))...),
	})
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := f.FillCommand(""); err != nil {
			return err
		}
		return runFit(p, a)
	}
	return cmd
}

func runFit(p process.Process, a fitArguments) error {
	targets, err := a.output.Targets(fitForms)
	if err != nil {
		return process.UsageError("%w", err)
	}
	if len(a.from) == 0 {
		return process.UsageError("analyze fit takes --from REPORT")
	}
	if len(targets) == 0 {
		targets = flags.OutputTargets{{Form: flags.TextForm.Name, File: "-"}}
	}
	headroom, err := flags.Headroom(a.headroom)
	if err != nil {
		return process.UsageError("--memory-headroom: %w", err)
	}
	models, err := readReports(a.from)
	if err != nil {
		return err
	}
	devices, err := findTargets(p, a.assume)
	if err != nil {
		return err
	}
	r, err := predictFit(models, devices, headroom)
	if err != nil {
		return err
	}
	if err := targets.Write(p, func(w io.Writer, form string) error { return writeFit(w, form, r) }); err != nil {
		return err
	}
	if a.strict && len(r.Unfit) > 0 {
		return &process.ExitError{Code: nothingFits}
	}
	return nil
}

// readReports reads the models of reports.
func readReports(files []string) ([]memory.DocumentModel, error) {
	var all []memory.DocumentModel
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var d memory.Document
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s is not a report of triton analyze as JSON: %w", name, err)
		}
		if d.Schema != memory.Schema {
			return nil, fmt.Errorf("%s has schema %d, this program reads %d: write it again with triton analyze", name, d.Schema, memory.Schema)
		}
		all = append(all, d.Models...)
	}
	return all, nil
}

// fitTarget is a device to predict for.
type fitTarget struct {
	name     string
	usable   uint64
	uuid     string        // of a device at hand
	profiles []gpu.Profile // that it can be divided into
}

// findTargets returns the assumed devices, or those of this machine.
func findTargets(p process.Process, assumed []string) ([]fitTarget, error) {
	var all []fitTarget
	for _, text := range assumed {
		d, err := gpu.Assume(text)
		if err != nil {
			return nil, process.UsageError("--assume-device: %w", err)
		}
		all = append(all, fitTarget{name: d.Name, usable: d.Usable(), profiles: d.Profiles})
	}
	if len(assumed) > 0 {
		return all, nil
	}
	m, err := gpu.Open(machine.GPUs(p, nil))
	if errors.Is(err, gpu.ErrNoDriver) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return fromInventory(m.Inventory()), nil
}

// fromInventory returns the devices that CUDA shows: MIG instances where a GPU is divided.
func fromInventory(v gpu.Inventory) []fitTarget {
	var all []fitTarget
	for _, g := range v.GPUs {
		for _, i := range g.MIG.Instances {
			if i.Ordinal.Known {
				all = append(all, fitTarget{name: strings.TrimSpace(g.Name + " " + i.Profile), usable: i.Reading.MemoryFree.Value, uuid: i.UUID})
			}
		}
		if g.MIG.Enabled || !g.Ordinal.Known {
			continue
		}
		t := fitTarget{name: g.Name, usable: g.Reading.MemoryFree.Value, uuid: g.UUID}
		if g.MIG.Supported && g.MIG.Enabled == g.MIG.Pending {
			t.profiles = g.MIG.Profiles
		}
		all = append(all, t)
	}
	return all
}
