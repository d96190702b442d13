package devices

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/gpu"
	"triton/pkg/gpu/catalog"
	"triton/pkg/ui"
)

// text prints the inventory as tables.
func text(w io.Writer, r result) error {
	b := &page{w: w}
	if r.Driver != "" || r.CUDA != "" {
		b.line("Driver %s, CUDA up to %s, NVML %s", orUnknown(r.Driver), orUnknown(r.CUDA), orUnknown(r.NVML))
	}
	for _, one := range r.Unreadable {
		b.line("Left out: %s", one)
	}
	if len(r.GPUs) == 0 {
		b.line("No GPUs: %s. Models run on the CPU.", r.Reason)
		return b.err
	}
	b.gpus(r.GPUs)
	b.instances(r.GPUs)
	b.processes(r.GPUs)
	b.sources(r.GPUs)
	b.profiles(r.GPUs)
	return b.err
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// page writes until the first error.
type page struct {
	w   io.Writer
	err error
}

func (b *page) line(format string, args ...any) {
	if b.err == nil {
		_, b.err = fmt.Fprintf(b.w, format+"\n", args...)
	}
}

// table adds a table with a title, if it has rows.
func (b *page) table(title string, columns []ui.Column, rows [][]string) {
	if len(rows) == 0 || b.err != nil {
		return
	}
	b.line("\n%s", title)
	if b.err == nil {
		b.err = ui.Table(b.w, columns, rows)
	}
}

// columns returns left-aligned columns; those whose title begins with > are right-aligned.
func columns(titles ...string) []ui.Column {
	all := make([]ui.Column, len(titles))
	for i, title := range titles {
		if right, ok := strings.CutPrefix(title, ">"); ok {
			all[i] = ui.Column{Title: right, Align: ui.Right}
			continue
		}
		all[i].Title = title
	}
	return all
}

func (b *page) gpus(all []gpu.GPU) {
	var rows [][]string
	for _, g := range all {
		r := g.Reading
		rows = append(rows, []string{
			strconv.Itoa(g.Index), ordinal(g.Ordinal), g.Name, g.Capability,
			memory(r.MemoryTotal), memory(r.MemoryReserved), memory(r.MemoryUsed), memory(r.MemoryFree),
			percent(r.Utilization), watts(r), mode(g), mig(g.MIG),
		})
	}
	b.table("GPUs", columns(">GPU", ">CUDA", "Name", "Capability", ">Memory", ">Reserved", ">Used", ">Free", ">Busy", ">Power", "Mode", "MIG"), rows)
	for _, g := range all {
		b.line("GPU %d is %s at %s", g.Index, g.UUID, orUnknown(g.PCI))
		switch {
		case g.Reading.Lost:
			b.line("GPU %d is lost: it fell off the bus. Restart the machine or reset the GPU.", g.Index)
		case g.MIG.Enabled != g.MIG.Pending:
			b.line("GPU %d changes its MIG mode at the next reset: what fits on it is not known before.", g.Index)
		}
	}
}

func ordinal(n gpu.Optional[int]) string {
	if !n.Known {
		return "hidden"
	}
	return strconv.Itoa(n.Value)
}

func memory(n gpu.Optional[uint64]) string {
	if !n.Known {
		return "?"
	}
	return ui.Bytes(float64(n.Value))
}

func percent(v gpu.Optional[float64]) string {
	if !v.Known {
		return "?"
	}
	return fmt.Sprintf("%.0f%%", 100*v.Value)
}

func watts(r gpu.Reading) string {
	if !r.Power.Known {
		return "?"
	}
	if !r.PowerLimit.Known {
		return fmt.Sprintf("%.0f W", r.Power.Value)
	}
	return fmt.Sprintf("%.0f of %.0f W", r.Power.Value, r.PowerLimit.Value)
}

// mode tells who may use a GPU, and which kind of virtual machine has it.
func mode(g gpu.GPU) string {
	out := orUnknown(g.ComputeMode)
	if g.Virtualization != "" && g.Virtualization != "none" {
		out += ", " + g.Virtualization
	}
	return out
}

func mig(m gpu.MIG) string {
	switch {
	case !m.Supported:
		return "no"
	case !m.Enabled:
		return "off"
	case len(m.Instances) == 0:
		return "on, no instances"
	}
	return "on, " + ui.Plural(len(m.Instances), "instance")
}

func (b *page) instances(all []gpu.GPU) {
	var rows [][]string
	for _, g := range all {
		for _, i := range g.MIG.Instances {
			rows = append(rows, []string{
				strconv.Itoa(g.Index), ordinal(i.Ordinal), i.UUID, orUnknown(i.Profile), number(i.GPUInstance), number(i.ComputeInstance),
				memory(i.Reading.MemoryTotal), memory(i.Reading.MemoryUsed), memory(i.Reading.MemoryFree), strings.Join(i.SharesMemory, ", "),
			})
		}
	}
	b.table("MIG instances", columns(">GPU", ">CUDA", "UUID", "Profile", ">GPU instance", ">Compute instance", ">Memory", ">Used", ">Free", "Shares memory with"), rows)
}

func number(n int) string {
	if n < 0 {
		return "?"
	}
	return strconv.Itoa(n)
}

func (b *page) processes(all []gpu.GPU) {
	var rows [][]string
	add := func(on string, procs []gpu.Process) {
		for _, p := range procs {
			rows = append(rows, []string{on, strconv.Itoa(p.PID), p.Use.String(), memory(p.Memory), orUnknown(p.Name)})
		}
	}
	for _, g := range all {
		if len(g.MIG.Instances) == 0 {
			add(fmt.Sprintf("GPU %d", g.Index), g.Processes)
		}
		for _, i := range g.MIG.Instances {
			add(i.UUID, i.Processes)
		}
	}
	b.table("Processes (C CUDA, M through MPS, G graphics)", columns("On", ">PID", "Use", ">Memory", "Name"), rows)
}

// sources prints which readings work, with a numbered reason for those that do not.
func (b *page) sources(all []gpu.GPU) {
	titles := []string{"On"}
	for _, s := range all[0].Sources {
		titles = append(titles, s.Name)
	}
	var rows [][]string
	var reasons []string
	add := func(on string, sources []gpu.Source) {
		row := []string{on}
		for _, s := range sources {
			row = append(row, verdict(s, &reasons))
		}
		rows = append(rows, row)
	}
	for _, g := range all {
		add(fmt.Sprintf("GPU %d", g.Index), g.Sources)
		for _, i := range g.MIG.Instances {
			add(i.UUID, i.Sources)
		}
	}
	b.table("Readings that work", columns(titles...), rows)
	for n, reason := range reasons {
		b.line("[%d] %s", n+1, reason)
	}
}

func verdict(s gpu.Source, reasons *[]string) string {
	out := "no"
	if s.Works {
		out = "yes"
	}
	if s.Reason == "" {
		return out
	}
	n := slices.Index(*reasons, s.Reason)
	if n < 0 {
		n = len(*reasons)
		*reasons = append(*reasons, s.Reason)
	}
	return fmt.Sprintf("%s [%d]", out, n+1)
}

// profiles prints what each GPU can be divided into: as its driver says, else as the catalog
// does.
func (b *page) profiles(all []gpu.GPU) {
	var rows [][]string
	for _, g := range all {
		list, source := g.MIG.Profiles, "driver"
		if g.MIG.Supported && len(list) == 0 {
			list, source = catalog.Profiles(g.Name, g.Reading.MemoryTotal.Value), "catalog"
		}
		if len(list) > 0 {
			rows = append(rows, []string{strconv.Itoa(g.Index), source, profiles(list)})
		}
	}
	b.table("MIG profiles: how many fit", columns(">GPU", "Source", "Profiles"), rows)
}

// profiles returns the profiles in one line.
func profiles(all []gpu.Profile) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = fmt.Sprintf("%s: %d", p.Name, p.Instances)
	}
	return strings.Join(texts, ", ")
}
