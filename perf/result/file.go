// Package result reads and writes the JSON file of a measurement, compares two and shows several. The file has
// everything that a report or a comparison needs: the settings, and for each level its figures, their course over time
// and the distribution of latencies. Read also reads the exports of perf_analyzer. Compare compares two measurements;
// WritePage shows several as one HTML page with charts and tables, and WriteChart as a chart of text for terminals.
package result

import "time"

const (
	// Format is the value of File.Format.
	Format = "triton-perf-result"
	// Version is the version of the format. A program reads files of its own version and of
	// older ones, and ignores fields that it does not know. A version that changes the
	// meaning of a field has a higher number; one that only adds fields has not.
	Version = 1
)

// File is a result file. Names of fields end in their unit; latencies are microseconds with
// the fraction that the clock gave.
type File struct {
	Format      string    `json:"format"`
	Version     int       `json:"version"`
	Created     time.Time `json:"created"`
	Program     Program   `json:"program"`
	Machine     Machine   `json:"machine"`
	Settings    Settings  `json:"settings"`
	Interrupted bool      `json:"interrupted,omitempty"`
	Levels      []Level   `json:"levels"` // in the order measured
}

// Program is what wrote the file.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
}

// Machine is the client's.
type Machine struct {
	Host      string `json:"host,omitempty"`
	OS        string `json:"os,omitempty"`
	Arch      string `json:"arch,omitempty"`
	CPU       string `json:"cpu,omitempty"` // name of the model
	CPUs      int    `json:"cpus,omitempty"`
	GoVersion string `json:"go_version,omitempty"`
}

// Settings are the options that decide what the figures mean.
type Settings struct {
	Model        string  `json:"model"`
	ModelVersion string  `json:"model_version,omitempty"` // empty: the server's choice
	URL          string  `json:"url,omitempty"`
	Protocol     string  `json:"protocol,omitempty"`
	ServiceKind  string  `json:"service_kind,omitempty"`
	Mode         Mode    `json:"load_mode"`
	Distribution string  `json:"request_distribution,omitempty"` // of request_rate: constant or poisson
	BatchSizes   []int   `json:"batch_sizes,omitempty"`
	Range        *Range  `json:"range,omitempty"` // of concurrencies or rates
	Search       string  `json:"search,omitempty"`
	Streaming    bool    `json:"streaming,omitempty"`
	Async        bool    `json:"async,omitempty"`
	Decoupled    bool    `json:"decoupled,omitempty"`
	Sequences    bool    `json:"sequences,omitempty"`
	Ensemble     bool    `json:"ensemble,omitempty"`
	MaxBatchSize int     `json:"max_batch_size,omitempty"`
	Windows      string  `json:"windows,omitempty"` // bounded by time or count
	IntervalMs   float64 `json:"measurement_interval_ms,omitempty"`
	Samples      int     `json:"measurement_requests,omitempty"`
	Stability    float64 `json:"stability_percent,omitempty"`
	MaxWindows   int     `json:"max_windows,omitempty"`
	StopWhen     []Goal  `json:"stop_when,omitempty"`
	Percentile   float64 `json:"deciding_percentile,omitempty"` // 0: the average
	LimitMs      float64 `json:"latency_limit_ms,omitempty"`
	RequestCount int     `json:"request_count,omitempty"`
	WarmupCount  int     `json:"warmup_requests,omitempty"`
	MaxInFlight  int     `json:"max_in_flight,omitempty"`
	Seed         uint64  `json:"random_seed"`
	Input        string  `json:"input_data,omitempty"` // random, zero or files
	RandomSteps  int     `json:"random_steps,omitempty"`
	Speed        float64 `json:"schedule_speed,omitempty"`
	Repeats      int     `json:"repeats,omitempty"` // of each level, taken in turn; 0: one
	// Live is the same in two files whose repeats were measured in turn with each other.
	Live string `json:"live,omitempty"`
}

// Goal is the width of a confidence interval at which a level ends.
type Goal struct {
	Figure       string  `json:"figure"`
	WidthPercent float64 `json:"width_percent"`
}

// Mode is how requests are started: the option of the load.
type Mode string

// The modes.
const (
	Concurrency   Mode = "concurrency"
	RequestRate   Mode = "request_rate"
	Intervals     Mode = "request_intervals"
	FixedSchedule Mode = "fixed_schedule"
	Periodic      Mode = "periodic_concurrency"
	Sessions      Mode = "session_concurrency"
)

// Rate reports whether the load of a level is requests per second.
func (m Mode) Rate() bool { return m == RequestRate || m == Intervals || m == FixedSchedule }

// Range is a sweep: from Start to End, or the levels of List.
type Range struct {
	Start float64   `json:"start"`
	End   float64   `json:"end"` // 0: the latency limit ends the sweep
	Step  float64   `json:"step"`
	List  []float64 `json:"list,omitempty"`
}

// Level is one batch size under one load.
type Level struct {
	Number    int       `json:"number"`           // in the order measured, from 1
	BatchSize int       `json:"batch_size"`       // rows of a request; 0: not known
	Load      float64   `json:"load"`             // requests in flight, or requests per second
	Repeat    int       `json:"repeat,omitempty"` // which repeat of the level, from 1; 0: it was measured once
	Started   time.Time `json:"started,omitzero"`

	Stable      bool   `json:"stable"`
	OverLimit   bool   `json:"over_latency_limit,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"`
	Trials      int    `json:"windows_measured,omitempty"`
	Problem     string `json:"problem,omitempty"` // why the level does not count
	// ClientLimit says why the figures are those of the client rather than of the server, Late
	// that requests of a schedule were late.
	ClientLimit string  `json:"client_limit,omitempty"`
	Late        string  `json:"late,omitempty"`
	Grade       string  `json:"grade,omitempty"` // of the figures, from A to F
	WarmUp      *WarmUp `json:"warm_up,omitempty"`

	Requests   int      `json:"requests"` // within DurationS
	DurationS  float64  `json:"duration_s"`
	Throughput float64  `json:"throughput_per_s"` // inferences: requests times batch size
	Latency    Latency  `json:"latency"`
	StdDevUs   *float64 `json:"latency_std_us,omitempty"`
	DecidingUs float64  `json:"deciding_latency_us,omitempty"`
	Failed     uint64   `json:"failed_requests,omitempty"`
	// ThroughputInterval is the 95 % confidence interval of Throughput.
	ThroughputInterval *Interval `json:"throughput_interval_per_s,omitempty"`

	Responses          int       `json:"responses,omitempty"` // with outputs
	ResponseThroughput float64   `json:"responses_per_s,omitempty"`
	SequencesEnded     int       `json:"sequences_ended,omitempty"`
	Schedule           *Schedule `json:"schedule,omitempty"` // with a rate or a schedule
	Client             Client    `json:"client"`
	Server             *Server   `json:"server,omitempty"`
	GPUs               []GPU     `json:"gpus,omitempty"`

	Windows   []Window `json:"windows,omitempty"`
	Timeline  []Moment `json:"timeline,omitempty"`          // of the windows that count
	Histogram []Bucket `json:"latency_histogram,omitempty"` // of the windows that count
}

// WarmUp is what was sent before the first window and is not counted.
type WarmUp struct {
	Requests  int     `json:"requests"`
	DurationS float64 `json:"duration_s"`
}

// Interval is a 95 % confidence interval. High is absent if too few requests are beyond it.
type Interval struct {
	Low  float64  `json:"low"`
	High *float64 `json:"high,omitempty"`
}

// Latency has the figures of the latencies of some requests.
type Latency struct {
	AvgUs       float64      `json:"avg_us"`
	AvgInterval *Interval    `json:"avg_interval_us,omitempty"`
	MaxUs       float64      `json:"max_us,omitempty"`
	Percentiles []Percentile `json:"percentiles,omitempty"` // ascending
}

// Percentile is one percentile of latencies.
type Percentile struct {
	P        float64   `json:"percentile"`
	Us       float64   `json:"latency_us"`
	Requests int       `json:"requests,omitempty"` // that it is computed from
	Interval *Interval `json:"interval_us,omitempty"`
}

// Us returns a percentile and reports whether the file has it.
func (l Latency) Us(p float64) (us float64, ok bool) {
	for _, q := range l.Percentiles {
		if q.P == p {
			return q.Us, true
		}
	}
	return 0, false
}

// Schedule says how well the client kept its schedule.
type Schedule struct {
	SendRate  float64 `json:"sent_per_s"`
	Late      int     `json:"late_requests"` // sent more than a millisecond late
	MaxLateUs float64 `json:"max_late_us"`
	AvgLateUs float64 `json:"avg_late_us"`
	Latency   Latency `json:"latency"` // from the scheduled start
}

// Client has averages over requests.
type Client struct {
	RequestUs       float64 `json:"request_us,omitempty"`
	SendUs          float64 `json:"send_us,omitempty"`
	ReceiveUs       float64 `json:"receive_us,omitempty"`
	OverheadPercent float64 `json:"overhead_percent"` // of the time, without a request in flight

	CoresUsed   float64 `json:"cores_used,omitempty"`
	Cores       float64 `json:"cores,omitempty"` // that the client may use
	BusyPercent float64 `json:"machine_busy_percent,omitempty"`
	// OthersPercent is how busy the machine was just before the level, without this client and its requests.
	OthersPercent *float64 `json:"others_busy_percent,omitempty"`
	// RoundTrips is how many messages a second went over the loopback and back just before the level: the pace of
	// the machine itself.
	RoundTrips float64 `json:"machine_round_trips_per_s,omitempty"`
	// Times from an event until a goroutine runs that handles it.
	DelayUs    float64 `json:"delay_us,omitempty"`
	DelayP99Us float64 `json:"delay_p99_us,omitempty"`
}

// Server has the server's own statistics of one model during the windows that count. Times
// are averages.
type Server struct {
	Model           string      `json:"model"`
	ModelVersion    string      `json:"model_version,omitempty"`
	Inferences      uint64      `json:"inferences"`
	Executions      uint64      `json:"executions"`
	Requests        uint64      `json:"requests"`
	RequestUs       float64     `json:"request_us"`
	QueueUs         float64     `json:"queue_us"`
	ComputeInputUs  float64     `json:"compute_input_us"`
	ComputeInferUs  float64     `json:"compute_infer_us"`
	ComputeOutputUs float64     `json:"compute_output_us"`
	CacheHits       uint64      `json:"cache_hits,omitempty"`
	CacheHitUs      float64     `json:"cache_hit_us,omitempty"`
	CacheMisses     uint64      `json:"cache_misses,omitempty"`
	CacheMissUs     float64     `json:"cache_miss_us,omitempty"`
	Batches         []BatchSize `json:"batch_sizes,omitempty"` // that were executed, ascending
	Composing       []Server    `json:"composing,omitempty"`
}

// BatchSize has the executions of one batch size. Times are averages of an execution.
type BatchSize struct {
	Size            uint64  `json:"batch_size"`
	Executions      uint64  `json:"executions"`
	ComputeInputUs  float64 `json:"compute_input_us"`
	ComputeInferUs  float64 `json:"compute_infer_us"`
	ComputeOutputUs float64 `json:"compute_output_us"`
}

// GPU has the gauges of a GPU of the server. A gauge that the server does not have is absent.
type GPU struct {
	UUID               string   `json:"uuid"`
	UtilizationPercent *float64 `json:"utilization_percent,omitempty"`
	PowerW             *float64 `json:"power_w,omitempty"`
	MemoryUsedBytes    *float64 `json:"memory_used_bytes,omitempty"`
	MemoryTotalBytes   *float64 `json:"memory_total_bytes,omitempty"`
}

// Window is one window of a level.
type Window struct {
	StartS     float64 `json:"start_s"` // since the start of the level's first window
	DurationS  float64 `json:"duration_s"`
	Requests   int     `json:"requests"`
	Throughput float64 `json:"throughput_per_s"`
	DecidingUs float64 `json:"deciding_latency_us"`
	Counted    bool    `json:"counted"` // the figures of the level have it
	Error      string  `json:"error,omitempty"`
}

// Moment is a short part of a window.
type Moment struct {
	StartS    float64 `json:"start_s"` // since the start of the level's first window
	DurationS float64 `json:"duration_s"`
	Requests  int     `json:"requests"` // that ended in it
	Latency   Latency `json:"latency"`
}

// Bucket counts the latencies from LowUs up to, and without, HighUs.
type Bucket struct {
	LowUs  float64 `json:"low_us"`
	HighUs float64 `json:"high_us"`
	Count  uint64  `json:"count"`
}
