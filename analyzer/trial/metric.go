// The catalog of what an analysis measures: the metrics of Model Analyzer with their headers, which direction
// is better, and how the values of several models are combined.

package trial

import "fmt"

// Metric names a metric in configuration files, constraints, objectives and output fields.
type Metric string

// Metrics of the load generator. Latencies are in milliseconds.
const (
	Throughput       Metric = "perf_throughput"
	LatencyAvg       Metric = "perf_latency_avg"
	LatencyP90       Metric = "perf_latency_p90"
	LatencyP95       Metric = "perf_latency_p95"
	LatencyP99       Metric = "perf_latency_p99"
	ClientWait       Metric = "perf_client_response_wait"
	ClientSendRecv   Metric = "perf_client_send_recv"
	ServerQueue      Metric = "perf_server_queue"
	ServerInput      Metric = "perf_server_compute_input"
	ServerInfer      Metric = "perf_server_compute_infer"
	ServerOutput     Metric = "perf_server_compute_output"
	OutputThroughput Metric = "output_token_throughput"
)

// Metrics of devices and of the host. Memory is in decimal megabytes as in Model Analyzer.
const (
	GPUUsedMemory   Metric = "gpu_used_memory"
	GPUFreeMemory   Metric = "gpu_free_memory"
	GPUTotalMemory  Metric = "gpu_total_memory"
	GPUUtilization  Metric = "gpu_utilization"
	GPUPower        Metric = "gpu_power_usage"
	CPUUsedRAM      Metric = "cpu_used_ram"
	CPUAvailableRAM Metric = "cpu_available_ram"
)

// Metrics that Model Analyzer does not have: what of a device's memory belongs to the server.
const (
	GPUProcessMemory  Metric = "gpu_process_memory"  // of the processes of the server
	GPUBaselineMemory Metric = "gpu_baseline_memory" // of the server without models
	GPUModelMemory    Metric = "gpu_model_memory"    // above the baseline
	GPUInstanceMemory Metric = "gpu_instance_memory" // of one more instance
	GPUPeakMemory     Metric = "gpu_peak_memory"     // highest reading under load
	GPUReservedMemory Metric = "gpu_reserved_memory" // of driver and firmware
	GPUHeadroom       Metric = "gpu_headroom"        // what is left at the peak
	GPUEnergy         Metric = "gpu_energy"          // of the measurement
	InstancesFit      Metric = "max_instances_fit"
)

// Fold combines the values of several models or devices.
type Fold uint8

// Folds.
const (
	Mean Fold = iota
	Sum
)

// MetricSpec describes a metric.
type MetricSpec struct {
	Tag    Metric
	Header string // of columns, with the unit
	Higher bool   // higher values are better
	Fold   Fold   // combines the values of several models or devices
	// Prefix names the aggregation over time in columns of GPU metrics, with a
	// trailing blank: "Max " or "Average ". Empty for others.
	Prefix string
	GPU    bool // measured for each device
}

var specs = catalog()

func catalog() []MetricSpec {
	out := []MetricSpec{
		{Tag: Throughput, Header: "Throughput (infer/sec)", Higher: true, Fold: Sum},
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
		{Tag: GPUUsedMemory, Header: "GPU Memory Usage (MB)", Fold: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUFreeMemory, Header: "GPU Memory Available (MB)", Higher: true, Fold: Sum, Prefix: "Max ", GPU: true},
		// As in Model Analyzer, which has one header for both, and counts tokens as inferences below.
		{Tag: GPUTotalMemory, Header: "GPU Memory Available (MB)", Higher: true, Fold: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUUtilization, Header: "GPU Utilization (%)", Higher: true, Prefix: "Average ", GPU: true},
		{Tag: GPUPower, Header: "GPU Power Usage (W)", Prefix: "Average ", GPU: true},
		{Tag: GPUProcessMemory, Header: "GPU Process Memory (MB)", Fold: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUBaselineMemory, Header: "GPU Baseline Memory (MB)", Fold: Sum, GPU: true},
		{Tag: GPUModelMemory, Header: "GPU Model Memory (MB)", Fold: Sum, Prefix: "Max ", GPU: true},
		{Tag: GPUInstanceMemory, Header: "GPU Instance Memory (MB)", Fold: Sum, GPU: true},
		{Tag: GPUPeakMemory, Header: "GPU Peak Memory (MB)", Fold: Sum, GPU: true},
		{Tag: GPUReservedMemory, Header: "GPU Reserved Memory (MB)", Fold: Sum, GPU: true},
		{Tag: GPUHeadroom, Header: "GPU Memory Headroom (MB)", Higher: true, Fold: Sum, GPU: true},
		{Tag: GPUEnergy, Header: "GPU Energy (J)", Fold: Sum, GPU: true},
		{Tag: InstancesFit, Header: "Instances That Fit", Higher: true, Fold: Sum},
		{Tag: CPUUsedRAM, Header: "RAM Usage (MB)"},
		{Tag: CPUAvailableRAM, Header: "RAM Available (MB)", Higher: true},
		{Tag: OutputThroughput, Header: "Output Token Throughput (infer/sec)", Higher: true, Fold: Sum},
	}
	for _, p := range []string{"avg", "min", "max", "p25", "p50", "p75", "p90", "p95", "p99"} {
		out = append(out,
			MetricSpec{Tag: Metric("inter_token_latency_" + p), Header: p + " Inter Token Latency (ms)"},
			MetricSpec{Tag: Metric("time_to_first_token_" + p), Header: p + " Time To First Token (ms)"})
	}
	return out
}

// FindMetric returns the description of a tag. It knows the aliases perf_latency and cpu_free_ram.
func FindMetric(tag Metric) (MetricSpec, error) {
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
	return MetricSpec{}, fmt.Errorf("%q is not a metric", tag)
}

// Metrics returns all tags of the catalog in its order, without aliases.
func Metrics() []Metric {
	tags := make([]Metric, len(specs))
	for i, s := range specs {
		tags[i] = s.Tag
	}
	return tags
}

// Values are measured metrics by tag; what was not measured is absent.
type Values map[Metric]float64
