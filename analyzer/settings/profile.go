package settings

import (
	"slices"
	"strings"
	"time"

	"triton/analyzer/trial"
)

// Names of enumerated values, as in files and on the command line.
const (
	Online  = "online"
	Offline = "offline"

	Brute   = "brute"
	Quick   = "quick"
	Optuna  = "optuna"
	Planned = "planned" // our own

	Local  = "local"
	Docker = "docker"
	Remote = "remote"
	CAPI   = "c_api"

	LLM = "LLM"

	QueueDelay    = "queue_delay"
	PreferredSize = "preferred_batch_size"
	Threads       = "threads"
	ResponseCache = "response_cache"
	LengthBuckets = "length_buckets"
)

// Dimensions returns the names of further dimensions of planned mode.
func Dimensions() []string {
	return []string{QueueDelay, PreferredSize, Threads, ResponseCache, LengthBuckets}
}

// Profile holds the options of `triton analyze profile`. NewProfile sets the defaults, Options give
// access by name, and Finish reads the file, checks all values and completes those that depend on
// others.
type Profile struct {
	Mode    string // Online or Offline; set by the caller
	Quiet   bool   // set by the caller
	Verbose bool   // set by the caller
	// Analyze is set by the caller for the deprecated subcommand: without a model repository it
	// rebuilds reports from a checkpoint.
	Analyze bool

	ConfigFile             string
	CheckpointDirectory    string
	MonitoringInterval     time.Duration // of metrics of devices and host
	MemoryInterval         time.Duration // of the memory of devices
	IdleSampleTime         time.Duration // of the sample of the server without models
	Budget                 time.Duration // of the whole run; 0 for no limit
	Strict                 bool          // a model without a variant within its constraints is an error
	CollectCPUMetrics      bool
	GPUs                   []string // "all", UUIDs, indices, or index:gi:ci; empty for none
	AlwaysReportGPUMetrics bool
	DCGMDisable            bool
	ModelType              string // "generic" or LLM

	ModelRepository       string
	OutputModelRepository string
	OverrideOutput        bool
	ReloadModelDisable    bool

	// Models are the profiled models in the user's order.
	Models            []Model
	BLSComposing      []Model
	EnsembleComposing []Model
	CPUOnlyComposing  []string
	// Global is what models fall back to, and the goal of comparisons across models. Its Name is
	// empty.
	Global        Model
	LatencyBudget int // ms; 0 for none. Finish adds it to the constraints
	MinThroughput int // inferences/s; 0 for none. Finish adds it to the constraints

	Client Client
	Search Search
	Server Server
	Output Output

	// Notices are what the user should know about the options: ignored, deprecated or
	// replaced ones.
	Notices []string

	set       map[string]bool
	weighting int    // global, which is an error
	window    string // of perf_analyzer, from a removed flag
}

// NewProfile returns the options with their defaults.
func NewProfile() *Profile {
	return &Profile{
		Mode:                  Online,
		CheckpointDirectory:   "checkpoints",
		MonitoringInterval:    time.Second,
		MemoryInterval:        20 * time.Millisecond,
		IdleSampleTime:        3 * time.Second,
		GPUs:                  []string{"all"},
		ModelType:             "generic",
		OutputModelRepository: "output_model_repository",
		Global: Model{
			BatchSizes: []int{1},
			Goal:       trial.Goal{Objectives: trial.DefaultObjectives(), Weight: 1},
		},
		Client: Client{MaxRetries: 50, Protocol: "grpc", Timeout: 600 * time.Second, MaxAutoAdjusts: 10},
		Search: Search{
			Mode:                 Brute,
			Concurrency:          Range{1, 1024},
			RequestRate:          Range{16, 8192},
			InstanceCount:        Range{1, 5},
			ModelBatchSize:       Range{1, 128},
			MaxBinarySearchSteps: 5,
			PercentageOfSpace:    Range{5, 10},
			Trials:               Range{20, 200},
			EarlyExitThreshold:   10,
			Seed:                 1,
		},
		Server: Server{
			LaunchMode:   Local,
			HTTPEndpoint: "localhost:8000",
			GRPCEndpoint: "localhost:8001",
			MetricsURL:   "http://localhost:8002/metrics",
			InstallPath:  "/opt/tritonserver",
			DockerImage:  "nvcr.io/nvidia/tritonserver:26.04-py3",
		},
		Output: Output{
			ExportPath:         ".",
			FilenameInference:  "metrics-model-inference.csv",
			FilenameGPU:        "metrics-model-gpu.csv",
			FilenameServerOnly: "metrics-server-only.csv",
			ConfigsPerModel:    3,
			InferenceFields:    inferenceFields("concurrency"),
			GPUFields:          gpuFields("concurrency"),
			ServerFields:       strings.Fields("model_name gpu_uuid gpu_used_memory gpu_utilization gpu_power_usage"),
		},
		set: map[string]bool{},
	}
}

func inferenceFields(load string, more ...string) []string {
	return append(strings.Fields("model_name batch_size "+load+" model_config_path instance_group max_batch_size "+
		"satisfies_constraints perf_throughput perf_latency_p99"), more...)
}

func gpuFields(load string) []string {
	return strings.Fields("model_name gpu_uuid batch_size " + load + " model_config_path instance_group " +
		"satisfies_constraints gpu_used_memory gpu_utilization gpu_power_usage")
}

// IsSet reports whether the user has set the option with this YAML key, on the command line or in
// the file, to any value. It panics if no option has this key.
func (p *Profile) IsSet(key string) bool {
	if !profileKeys()[key] {
		panic("settings: no option is called " + key)
	}
	return p.set[key]
}

// UsesRequestRate reports whether the loads are request rates rather than concurrencies.
func (p *Profile) UsesRequestRate() bool {
	return len(p.Global.RequestRate) > 0 || p.Search.RequestRateSearch ||
		p.IsSet("run_config_search_min_request_rate") || p.IsSet("run_config_search_max_request_rate") ||
		slices.ContainsFunc(p.Models, func(m Model) bool { return m.IsSet("parameters.request_rate") })
}

// Client holds the options of the load generator.
type Client struct {
	MaxRetries     int    // polls for a ready server, one per second
	Protocol       string // "http" or "grpc"
	Timeout        time.Duration
	CPUUtilization float64 // limit in percent of one core
	Path           string  // of perf_analyzer; empty means `triton perf` in this process
	Output         bool
	OutputPath     string
	MaxAutoAdjusts int
}

// Search holds the options of the search.
type Search struct {
	Mode string // Brute, Quick, Optuna or Planned
	// Disable measures only the listed values.
	Disable                 bool
	manual                  bool // the mode was "manual"
	Concurrency             Range
	RequestRate             Range
	InstanceCount           Range
	ModelBatchSize          Range
	MaxBinarySearchSteps    int
	ConcurrentModels        bool // profile all models at the same time
	RequestRateSearch       bool // search over request rates rather than concurrencies
	ConcurrencySweepDisable bool
	EarlyExit               bool
	PercentageOfSpace       Range // of optuna
	Trials                  Range // of optuna; only counts if set by the user
	EarlyExitThreshold      int   // of optuna: trials since the best one
	UseConcurrencyFormula   bool
	Seed                    int64
	Unbounded               bool // the default limits do not bound quick mode
	// Dimensions are what planned mode searches in addition to instances, batch sizes and loads:
	// QueueDelay and others.
	Dimensions []string
	// CostCurve are files with the durations of batches of the models, from which planned mode
	// predicts trials.
	CostCurve []string
}

// Range has inclusive limits.
type Range struct{ Min, Max int }

// Server holds the options of the servers that are measured.
type Server struct {
	LaunchMode   string // Local, Docker, Remote or CAPI
	HTTPEndpoint string
	GRPCEndpoint string
	MetricsURL   string
	Path         string // of tritonserver; empty means `serve` of this program
	OutputPath   string // of its log; empty means a temporary file
	InstallPath  string // of the library of CAPI

	DockerImage   string
	DockerMounts  []string // host:destination:mode
	DockerLabels  map[string]string
	DockerShmSize string
}

// Output holds the options of results.
type Output struct {
	ExportPath         string
	SkipSummary        bool
	SkipDetailed       bool
	FilenameInference  string
	FilenameGPU        string
	FilenameServerOnly string
	ConfigsPerModel    int
	TopConfigs         int // over all models; 0 for none
	InferenceFields    []string
	GPUFields          []string
	ServerFields       []string
	Plots              []Plot
	// Results are files, or "-" for standard output, with the whole result in one form.
	Results []ResultFile
}

// ResultFile is a file with a result in a form such as "json".
type ResultFile struct{ Form, File string }

// Plot is a diagram of two metrics. An axis is a metric's tag or "batch_size", "concurrency" or
// "request_rate".
type Plot struct {
	Name         string
	Title        string
	XAxis, YAxis trial.Metric
	Monotonic    bool
}
