package settings

import (
	"time"

	"triton/analyzer/metric"
)

// Names of enumerated values, as in files and on the command line.
const (
	Online  = "online"
	Offline = "offline"

	Brute  = "brute"
	Quick  = "quick"
	Optuna = "optuna"

	Local  = "local"
	Docker = "docker"
	Remote = "remote"
	CAPI   = "c_api"

	LLM = "LLM"
)

// Profile holds the options of `triton analyze profile`. Load fills it; its values are then checked,
// and complete: defaults that depend on other options are set.
type Profile struct {
	Mode    string // Online or Offline
	Quiet   bool
	Verbose bool

	ConfigFile             string
	CheckpointDirectory    string
	MonitoringInterval     time.Duration // of metrics of devices and host
	Duration               time.Duration // of the sample of the server without models
	CollectCPUMetrics      bool
	GPUs                   []string // "all", "[]" for none, UUIDs, indices, or index:gi:ci
	AlwaysReportGPUMetrics bool
	DCGMDisable            bool
	ModelType              string // "generic" or LLM

	ModelRepository       string
	OutputModelRepository string
	OverrideOutput        bool
	ReloadModelDisable    bool

	// Models are the profiled models in the user's order. Values that a model does not give
	// are those of the whole profile.
	Models            []Model
	BLSComposing      []Model
	EnsembleComposing []Model
	CPUOnlyComposing  []string
	Global            Model // what the models fall back to; its Name is empty

	Client Client
	Search Search
	Server Server
	Output Output

	// Notices are what the user should know about the options: ignored, deprecated or
	// replaced ones.
	Notices []string

	set map[string]bool
}

// IsSet reports whether the user has set the option with this YAML key, on the command line or in
// the file, to any value. It panics if no option has this key.
func (p *Profile) IsSet(key string) bool {
	if findOption(key) == nil {
		panic("settings: no option is called " + key)
	}
	return p.set[key]
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
	Mode string // Brute, Quick or Optuna
	// Disable measures only the listed values.
	Disable                 bool
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
}

// Plot is a diagram of two metrics. An axis is a metric's tag or "batch_size", "concurrency" or
// "request_rate".
type Plot struct {
	Name         string
	Title        string
	XAxis, YAxis metric.Tag
	Monotonic    bool
}
