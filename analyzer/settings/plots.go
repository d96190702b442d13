package settings

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"triton/analyzer/trial"
)

// plotsValue is a mapping of names to diagrams, a list of such mappings, or a list of diagrams.
type plotsValue struct{ to *[]Plot }

func (v plotsValue) Set(string) error { return errFileOnly }
func (v plotsValue) String() string {
	names := []string{}
	for _, p := range *v.to {
		names = append(names, p.Name)
	}
	return strings.Join(names, ",")
}
func (v plotsValue) Type() string { return "mapping" }
func (v plotsValue) decode(f field) {
	plots := []Plot{}
	list := []field{f}
	if f.node.Kind == yaml.SequenceNode {
		list = f.items()
	}
	for _, item := range list {
		if !item.object() {
			continue
		}
		members := item.members()
		if slices.ContainsFunc(members, func(m field) bool { return m.key == "x_axis" && m.node.Kind == yaml.ScalarNode }) {
			plots = append(plots, item.plot(""))
			continue
		}
		for _, m := range members {
			if m.object() {
				plots = append(plots, m.plot(m.key))
			}
		}
	}
	*v.to = plots
}

// plot reads one diagram. Without a name its title is its name.
func (f field) plot(name string) Plot {
	p := Plot{Name: name}
	axis := func(m field, to *trial.Metric) {
		text, ok := m.scalar()
		if !ok {
			return
		}
		loads := []string{"batch_size", "concurrency", "request_rate"}
		if _, err := trial.FindMetric(trial.Metric(text)); err != nil && !slices.Contains(loads, text) {
			m.fail("%v.%s", err, didYouMean(text, append(loads, metricNames()...)))
		}
		*to = trial.Metric(text)
	}
	keys := []string{"title", "x_axis", "y_axis", "monotonic"}
	for _, m := range f.members() {
		switch m.key {
		case "title":
			textValue(&p.Title).decode(m)
		case "x_axis":
			axis(m, &p.XAxis)
		case "y_axis":
			axis(m, &p.YAxis)
		case "monotonic":
			boolValue(&p.Monotonic).decode(m)
		default:
			f.unknownKey(m, keys)
		}
	}
	if p.XAxis == "" || p.YAxis == "" {
		f.fail("a plot needs x_axis and y_axis")
	}
	if p.Name == "" {
		word := func(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }
		p.Name = strings.Join(strings.FieldsFunc(strings.ToLower(p.Title), func(r rune) bool { return !word(r) }), "_")
	}
	p.Name = cmp.Or(p.Name, string(p.YAxis)+"_v_"+string(p.XAxis))
	p.Title = cmp.Or(p.Title, p.Name)
	return p
}

// Metrics of the default diagrams that tags do not name.
const batchSize trial.Metric = "batch_size"

// SummaryPlots returns the diagrams of a summary.
func SummaryPlots(mode string) []Plot {
	if mode == Offline {
		return []Plot{{"through_v_batch_size", "Throughput vs. Batch Size", batchSize, trial.Throughput, false}}
	}
	return []Plot{
		{"throughput_v_latency", "Throughput vs. Latency", trial.LatencyP99, trial.Throughput, true},
		{"gpu_mem_v_latency", "GPU Memory vs. Latency", trial.LatencyP99, trial.GPUUsedMemory, false},
	}
}

// CPUMemoryPlot returns the diagram that takes the place of GPU memory if no model uses a GPU.
func CPUMemoryPlot() Plot {
	return Plot{"cpu_mem_v_latency", "CPU Memory vs. Latency", trial.LatencyP99, trial.CPUUsedRAM, false}
}

// DetailPlots returns the diagrams of a detailed report.
func DetailPlots(mode string) []Plot {
	if mode == Offline {
		return []Plot{
			{"throughput_v_batch_size", "Throughput vs. Batch Size", batchSize, trial.Throughput, false},
			{"latency_v_batch_size", "p99 Latency vs. Batch Size", batchSize, trial.LatencyP99, false},
		}
	}
	return []Plot{
		{"gpu_mem_v_latency", "GPU Memory vs. Latency", trial.LatencyP99, trial.GPUUsedMemory, false},
		{"gpu_util_v_latency", "GPU Utilization vs. Latency", trial.LatencyP99, trial.GPUUtilization, false},
		{"cpu_mem_v_latency", "RAM Usage vs. Latency", trial.LatencyP99, trial.CPUUsedRAM, false},
		{"gpu_power_v_latency", "GPU Power vs. Latency", trial.LatencyP99, trial.GPUPower, false},
	}
}
