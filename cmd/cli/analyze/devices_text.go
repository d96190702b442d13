package analyze

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/gpu"
	"triton/pkg/ui"
)

// devicesText prints the inventory as tables.
func devicesText(w io.Writer, r devicesResult) error {
	b := &devicesPage{w: w}
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

// devicesPage writes until the first error.
type devicesPage struct {
	w   io.Writer
	err error
}

func (b *devicesPage) line(format string, args ...any) {
	if b.err == nil {
		b.err = ui.WriteLine(b.w, fmt.Sprintf(format, args...))
	}
}

// table adds a table with a title, if it has rows.
func (b *devicesPage) table(title string, columns []ui.Column, rows [][]string) {
	if len(rows) == 0 || b.err != nil {
		return
	}
	b.line("\n%s", title)
	if b.err == nil {
		b.err = ui.Table(b.w, columns, rows)
	}
}

// plainColumns returns left-aligned columns; those whose title begins with > are right-aligned.
func plainColumns(titles ...string) []ui.Column {
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

func (b *devicesPage) gpus(all []gpu.GPU) {
	var rows [][]string
	for _, g := range all {
		r := g.Reading
		rows = append(rows, []string{
			strconv.Itoa(g.Index), ordinalText(g.Ordinal), g.Name, g.Capability,
			memoryText(r.MemoryTotal), memoryText(r.MemoryReserved), memoryText(r.MemoryUsed), memoryText(r.MemoryFree),
			percentText(r.Utilization), wattsText(r), modeText(g), migText(g.MIG),
		})
	}
	b.table("GPUs", plainColumns(">GPU", ">CUDA", "Name", "Capability", ">Memory", ">Reserved", ">Used", ">Free", ">Busy", ">Power", "Mode", "MIG"), rows)
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

func ordinalText(n gpu.Optional[int]) string {
	if !n.Known {
		return "hidden"
	}
	return strconv.Itoa(n.Value)
}

func memoryText(n gpu.Optional[uint64]) string {
	if !n.Known {
		return "?"
	}
	return ui.Bytes(float64(n.Value))
}

func percentText(v gpu.Optional[float64]) string {
	if !v.Known {
		return "?"
	}
	return fmt.Sprintf("%.0f%%", 100*v.Value)
}

func wattsText(r gpu.Reading) string {
	if !r.Power.Known {
		return "?"
	}
	if !r.PowerLimit.Known {
		return fmt.Sprintf("%.0f W", r.Power.Value)
	}
	return fmt.Sprintf("%.0f of %.0f W", r.Power.Value, r.PowerLimit.Value)
}

// modeText tells who may use a GPU, and which kind of virtual machine has it.
func modeText(g gpu.GPU) string {
	out := orUnknown(g.ComputeMode)
	if g.Virtualization != "" && g.Virtualization != "none" {
		out += ", " + g.Virtualization
	}
	return out
}

func migText(m gpu.MIG) string {
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

func (b *devicesPage) instances(all []gpu.GPU) {
	var rows [][]string
	for _, g := range all {
		for _, i := range g.MIG.Instances {
			rows = append(rows, []string{
				strconv.Itoa(g.Index), ordinalText(i.Ordinal), i.UUID, orUnknown(i.Profile), numberText(i.GPUInstance), numberText(i.ComputeInstance),
				memoryText(i.Reading.MemoryTotal), memoryText(i.Reading.MemoryUsed), memoryText(i.Reading.MemoryFree), strings.Join(i.SharesMemory, ", "),
			})
		}
	}
	b.table("MIG instances", plainColumns(">GPU", ">CUDA", "UUID", "Profile", ">GPU instance", ">Compute instance", ">Memory", ">Used", ">Free", "Shares memory with"), rows)
}

func numberText(n int) string {
	if n < 0 {
		return "?"
	}
	return strconv.Itoa(n)
}

func (b *devicesPage) processes(all []gpu.GPU) {
	var rows [][]string
	add := func(on string, procs []gpu.Process) {
		for _, p := range procs {
			rows = append(rows, []string{on, strconv.Itoa(p.PID), p.Use.String(), memoryText(p.Memory), orUnknown(p.Name)})
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
	b.table("Processes (C CUDA, M through MPS, G graphics)", plainColumns("On", ">PID", "Use", ">Memory", "Name"), rows)
}

// sources prints which readings work, with a numbered reason for those that do not.
func (b *devicesPage) sources(all []gpu.GPU) {
	titles := []string{"On"}
	for _, s := range all[0].Sources {
		titles = append(titles, s.Name)
	}
	var rows [][]string
	var reasons []string
	add := func(on string, sources []gpu.Source) {
		row := []string{on}
		for _, s := range sources {
			row = append(row, verdictText(s, &reasons))
		}
		rows = append(rows, row)
	}
	for _, g := range all {
		add(fmt.Sprintf("GPU %d", g.Index), g.Sources)
		for _, i := range g.MIG.Instances {
			add(i.UUID, i.Sources)
		}
	}
	b.table("Readings that work", plainColumns(titles...), rows)
	for n, reason := range reasons {
		b.line("[%d] %s", n+1, reason)
	}
}

func verdictText(s gpu.Source, reasons *[]string) string {
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
func (b *devicesPage) profiles(all []gpu.GPU) {
	var rows [][]string
	for _, g := range all {
		list, source := g.MIG.Profiles, "driver"
		if g.MIG.Supported && len(list) == 0 {
			list, source = gpu.KnownProfiles(g.Name, g.Reading.MemoryTotal.Value), "catalog"
		}
		if len(list) > 0 {
			rows = append(rows, []string{strconv.Itoa(g.Index), source, profilesText(list)})
		}
	}
	b.table("MIG profiles: how many fit", plainColumns(">GPU", "Source", "Profiles"), rows)
}

// profilesText returns the profiles in one line.
func profilesText(all []gpu.Profile) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = fmt.Sprintf("%s: %d", p.Name, p.Instances)
	}
	return strings.Join(texts, ", ")
}
