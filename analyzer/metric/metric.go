// Package metric is the catalog of what an analysis measures: the tags of Model Analyzer with
// their headers, which direction is better, and how the values of several models are combined.
package metric

import "fmt"

// Tag names a metric in configuration files, constraints, objectives and output fields.
type Tag string

// Tags of the load generator. Latencies are in milliseconds.
const (
	Throughput       Tag = "perf_throughput"
	LatencyAvg       Tag = "perf_latency_avg"
	LatencyP90       Tag = "perf_latency_p90"
	LatencyP95       Tag = "perf_latency_p95"
	LatencyP99       Tag = "perf_latency_p99"
	ClientWait       Tag = "perf_client_response_wait"
	ClientSendRecv   Tag = "perf_client_send_recv"
	ServerQueue      Tag = "perf_server_queue"
	ServerInput      Tag = "perf_server_compute_input"
	ServerInfer      Tag = "perf_server_compute_infer"
	ServerOutput     Tag = "perf_server_compute_output"
	OutputThroughput Tag = "output_token_throughput"
)

// Tags of devices and of the host. Memory is in decimal megabytes as in Model Analyzer.
const (
	GPUUsedMemory   Tag = "gpu_used_memory"
	GPUFreeMemory   Tag = "gpu_free_memory"
	GPUTotalMemory  Tag = "gpu_total_memory"
	GPUUtilization  Tag = "gpu_utilization"
	GPUPower        Tag = "gpu_power_usage"
	CPUUsedRAM      Tag = "cpu_used_ram"
	CPUAvailableRAM Tag = "cpu_available_ram"
)

// Tags that Model Analyzer does not have: what of a device's memory belongs to the server.
const (
	GPUProcessMemory  Tag = "gpu_process_memory"  // of the processes of the server
	GPUBaselineMemory Tag = "gpu_baseline_memory" // of the server without models
	GPUModelMemory    Tag = "gpu_model_memory"    // above the baseline
	GPUInstanceMemory Tag = "gpu_instance_memory" // of one more instance
	GPUPeakMemory     Tag = "gpu_peak_memory"     // highest reading under load
	GPUReservedMemory Tag = "gpu_reserved_memory" // of driver and firmware
	GPUHeadroom       Tag = "gpu_headroom"        // what is left at the peak
	GPUEnergy         Tag = "gpu_energy"          // of the measurement
	InstancesFit      Tag = "max_instances_fit"
)

// Fold combines the values of several models or devices.
type Fold uint8

// Folds.
const (
	Mean Fold = iota
	Sum
)

// Spec describes a metric.
type Spec struct {
	Tag    Tag
	Header string // of columns, with the unit
	Higher bool   // higher values are better
	Models Fold   // combines the models of a trial
	// Prefix names the aggregation over time in columns of GPU metrics, with a
	// trailing blank: "Max " or "Average ". Empty for others.
	Prefix string
	GPU    bool // measured for each device
}

var specs = catalog()

func catalog() []Spec {
	out := []Spec{
		{Tag: Throughput, Header: "Throughput (infer/sec)", Higher: true, Models: Sum},
		{Tag: LatencyAvg, Header: "Avg Latency (ms)"},
		{Tag: LatencyP90, Header: "p90 Latency (ms)"},
		{Tag: LatencyP95, Header: "p95 Latency (ms)"},
		{Tag: LatencyP99, Header: "p99 Latency (ms)"},
		{Tag: ClientWait, Header: "Response Wait Time (ms)"},
		{Tag: ClientSendRecv, Header: "Client Send/Recv (ms)"},
		{Tag: ServerQueue, Header: "Server Queue time (ms)"},
		{Tag: ServerInput, Header: "Server Compute Input time (ms)"},
		{Tag: ServerInfer, Header: "Server Compute Infer time (ms)"},
		{Tag: ServerOutput, Header: "Server Compute Output time (ms)"},
		{Tag: GPUUsedMemory, Header: "GPU Memory Usage (MB)", Models: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUFreeMemory, Header: "GPU Memory Available (MB)", Higher: true, Models: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUTotalMemory, Header: "GPU Memory Available (MB)", Higher: true, Models: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUUtilization, Header: "GPU Utilization (%)", Higher: true, Prefix: "Average ", GPU: true},
		{Tag: GPUPower, Header: "GPU Power Usage (W)", Prefix: "Average ", GPU: true},
		{Tag: GPUProcessMemory, Header: "GPU Process Memory (MB)", Models: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUBaselineMemory, Header: "GPU Baseline Memory (MB)", Models: Sum, GPU: true},
		{Tag: GPUModelMemory, Header: "GPU Model Memory (MB)", Models: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUInstanceMemory, Header: "GPU Instance Memory (MB)", Models: Sum, GPU: true},
		{Tag: GPUPeakMemory, Header: "GPU Peak Memory (MB)", Models: Sum, GPU: true},
		{Tag: GPUReservedMemory, Header: "GPU Reserved Memory (MB)", Models: Sum, GPU: true},
		{Tag: GPUHeadroom, Header: "GPU Memory Headroom (MB)", Higher: true, Models: Sum, GPU: true},
		{Tag: GPUEnergy, Header: "GPU Energy (J)", Models: Sum, GPU: true},
		{Tag: InstancesFit, Header: "Instances That Fit", Higher: true, Models: Sum},
		{Tag: CPUUsedRAM, Header: "RAM Usage (MB)"},
		{Tag: CPUAvailableRAM, Header: "RAM Available (MB)", Higher: true},
		{Tag: OutputThroughput, Header: "Output Token Throughput (infer/sec)", Higher: true, Models: Sum},
	}
	for _, p := range []string{"avg", "min", "max", "p25", "p50", "p75", "p90", "p95", "p99"} {
		out = append(out,
			Spec{Tag: Tag("inter_token_latency_" + p), Header: p + " Inter Token Latency (ms)"},
			Spec{Tag: Tag("time_to_first_token_" + p), Header: p + " Time To First Token (ms)"})
	}
	return out
}

// Find returns the description of a tag. It knows the aliases perf_latency and cpu_free_ram.
func Find(tag Tag) (Spec, error) {
	switch tag {
	case "perf_latency":
		tag = LatencyP99
	case "cpu_free_ram":
		tag = CPUAvailableRAM
	}
	for _, s := range specs {
		if s.Tag == tag {
			return s, nil
		}
	}
	return Spec{}, fmt.Errorf("%q is not a metric", tag)
}

// Tags returns all tags of the catalog in its order, without aliases.
func Tags() []Tag {
	tags := make([]Tag, len(specs))
	for i, s := range specs {
		tags[i] = s.Tag
	}
	return tags
}

// Values are measured metrics by tag; what was not measured is absent.
type Values map[Tag]float64
