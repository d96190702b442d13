package serve

import (
	"math"
	"time"

	"github.com/spf13/pflag"

	"triton/cmd/cli/process"
	"triton/pkg/log"
	"triton/server"
	"triton/server/restricted"
)

// options holds what the flags and variables of serve set. A flag writes to a field of
// server.Options, or leaves a text that finish.go reads when all flags are known.
type options struct {
	server.Options
	log     log.Settings
	access  bool
	config  string // file of settings
	library string // ONNX Runtime

	getenv   func(string) string
	table    *table
	warnings []string

	noComplete, strictConfig       bool
	httpSecrets, grpcSecrets       []string
	vertexPort                     error // what is wrong with AIP_HTTP_PORT
	metrics, traces                []string
	backends, caches, hostPolicies []string
	cacheSize                      int64
	oldTrace                       []deprecatedTrace
}

// newOptions returns the defaults, with the flags of serve defined in set.
func newOptions(p process.Process, set *pflag.FlagSet) *options {
	o := &options{Options: server.Default(), log: log.DefaultSettings(), getenv: p.Getenv, table: newTable(p, set)}
	o.log.Raw = p.Getenv("TRITON_SERVER_ESCAPE_LOG_MESSAGES") == "0"
	t := o.table
	o.bindServer(t)
	o.bindModels(t)
	o.bindHTTP(t)
	o.bindGRPC(t)
	o.bindPlatforms(t)
	o.bindMetrics(t)
	o.bindBackends(t)
	o.bindMachine(t)
	o.bindDeprecated(t)
	return o
}

// Why flags have no effect.
const (
	noThreads = "every connection has its own goroutine, and all cores are used"
	noObjects = "nothing is kept back: memory for messages grows and shrinks with the load"
	noGPUPool = "the execution provider manages the memory of GPUs"
)

func (o *options) bindServer(t *table) {
	t.Group("Server")
	t.text(&o.ID, "id", "Name of this server in its metadata.")
	t.seconds(&o.ExitTimeout, "exit-timeout-secs",
		"Seconds that the end waits for requests in flight; after that the server exits with an error.")
	t.value(intValue[int64]{&o.StreamBacklog, 1, maxInt, "Error: --stream-backlog-byte-size must be greater than 0."},
		"stream-backlog-byte-size",
		"Bytes of responses that one stream, of HTTP or gRPC, holds for a client that does not take them. Above that its request is cancelled.")
	t.text(&o.config, "config",
		"File with settings: flag names as keys, in YAML, JSON or TOML. A flag wins over the environment variable TRITON_SERVE_<FLAG>, and that over the file.")
	t.MarkOwn("stream-backlog-byte-size", "config")

	t.Group("Logging")
	t.parsed(o.setVerbose, "0", "log-verbose", "Verbose level; 0 is off.")
	t.boolean(&o.log.Info, "log-info", "Log informational messages.")
	t.boolean(&o.log.Warning, "log-warning", "Log warnings.")
	t.boolean(&o.log.Error, "log-error", "Log errors.")
	t.parsed(o.setLogFormat, "default", "log-format", "Form of the lines: default, ISO8601 or json.")
	t.text(&o.log.File, "log-file", "Append all messages to this file instead of writing them to the console.")
	t.boolean(&o.access, "log-access", "Log every request when it is answered.")
	t.MarkOwn("log-access")
}

func (o *options) bindModels(t *table) {
	m := &o.Models
	t.Group("Model Repository")
	t.list(&o.Repositories, nil, "model-store", "The same as --model-repository.")
	t.list(&o.Repositories, nil, "model-repository", "Folder whose subfolders are models; may be repeated.")
	t.boolean(&o.ExitOnError, "exit-on-error",
		"Exit when a model cannot be loaded at the start. A missing ONNX Runtime library does not count.")
	t.toggle(&o.noComplete, "disable-auto-complete-config",
		"Do not fill in what a configuration leaves out; config.pbtxt must be there and complete.")
	t.boolean(&o.StrictReadiness, "strict-readiness", "Report ready only while all models are.")
	t.parsed(o.setControl, "none", "model-control-mode",
		"Who loads models: none is all at the start and no changes, poll loads what changes in the repositories, explicit loads what clients ask for.")
	t.seconds(&m.PollInterval, "repository-poll-secs", "Seconds between looks at the repositories in mode poll; 0 is never.")
	t.list(&m.Startup, nil, "load-model", "Name of a model to load at the start in mode explicit; may be repeated, and * alone is all.")
	t.parsed(o.setConfigName, "", "model-config-name",
		"Load a model by configs/<name>.pbtxt in its folder, where that exists, instead of config.pbtxt.")
	t.value(int32Value(&o.LoadThreads), "model-load-thread-count", "How many model versions load at the same time.")
	t.value(int32Value(&m.Retries), "model-load-retry-count", "How often a load that failed is tried again.")
	t.boolean(&m.Namespacing, "model-namespacing", "Let models in different repositories have the same name.")
	peer := true
	t.unused(boolValue{&peer}, "enable-peer-access", "Let GPUs read each other's memory.", "the execution provider decides that")
}

func (o *options) bindHTTP(t *table) {
	h := &o.HTTP
	t.Group("HTTP")
	h.Allow = !o.predicting()
	t.boolean(&h.Allow, "allow-http", "Listen for HTTP requests.")
	t.text(&h.Address, "http-address", "Address for HTTP.")
	t.port(&h.Port, "http-port", "Port for HTTP.")
	t.boolean(&h.Reuse, "reuse-http-port", "Let several servers listen at the same HTTP port.")
	t.parsed(headerPattern(&h.Forward), "", "http-header-forward-pattern",
		"Regular expression for the names of HTTP headers that become parameters of inference requests.")
	t.unused(fixed(8), "http-thread-count", "Threads for HTTP.", noThreads)
	t.value(intValue[int64]{&h.MaxInput, 1, maxInt, "Error: --http-max-input-size must be greater than 0."},
		"http-max-input-size", "Most bytes that a request's body may have.")
	t.value(intValue[int64]{&h.MinRate, 0, maxInt32, "Error: --http-min-receive-rate must not be negative."},
		"http-min-receive-rate",
		"Bytes per second that a request's body must bring on average over each 2 minutes, else the request is refused; 0 is no limit but that something comes.")
	t.value(intValue[int]{&h.MaxConnections, 0, maxInt32, "Error: --http-max-connections must not be negative."},
		"http-max-connections", "Most HTTP connections at a time; further ones are answered 503 and closed. 0 is no limit.")
	t.list(&o.httpSecrets, checkSecrets(restricted.HTTP, &o.httpSecrets), "http-restricted-api", secretsUsage)
	t.encryption(&h.TLS, "http", "HTTP")
	t.list(&h.Origins, nil, "http-allow-origin",
		"Web origin such as https://example.com whose pages may call this server from a browser; * is all; may be repeated.")
	t.MarkOwn("http-min-receive-rate", "http-max-connections", "http-use-ssl", "http-use-ssl-mutual", "http-server-cert", "http-server-key", "http-root-cert", "http-allow-origin")
}

func (o *options) bindGRPC(t *table) {
	g, l := &o.GRPC, &o.GRPC.Limits
	t.Group("GRPC")
	g.Allow = !o.predicting()
	t.boolean(&g.Allow, "allow-grpc", "Listen for gRPC requests.")
	t.text(&g.Address, "grpc-address", "Address for gRPC.")
	t.port(&g.Port, "grpc-port", "Port for gRPC.")
	t.boolean(&g.Reuse, "reuse-grpc-port", "Let several servers listen at the same gRPC port.")
	t.parsed(headerPattern(&l.Forward), "", "grpc-header-forward-pattern",
		"Regular expression for the names of gRPC metadata that become parameters of inference requests.")
	t.encryption(&g.TLS, "grpc", "gRPC")
	t.parsed(o.setCompression, "none", "grpc-infer-response-compression-level",
		"Compression of inference responses: none, low, medium or high.")
	t.list(&o.grpcSecrets, checkSecrets(restricted.GRPC, &o.grpcSecrets), "grpc-restricted-protocol", secretsUsage)
	t.milliseconds(&l.KeepaliveTime, "grpc-keepalive-time", "Milliseconds of silence until a client is pinged.")
	t.milliseconds(&l.KeepaliveTimeout, "grpc-keepalive-timeout", "Milliseconds until an unanswered ping ends a connection.")
	t.boolean(&l.PermitWithoutCalls, "grpc-keepalive-permit-without-calls", "Clients may ping while they have no calls.")
	t.milliseconds(&l.MinPingInterval, "grpc-http2-min-recv-ping-interval-without-data",
		"Milliseconds between pings that a client must keep.")
	t.milliseconds(&l.MaxConnectionAge, "grpc-max-connection-age", "Milliseconds that a connection may last; 0 is no limit.")
	t.milliseconds(&l.MaxConnectionGrace, "grpc-max-connection-age-grace",
		"Milliseconds more for the calls of such a connection; 0 is no limit.")
	t.value(intValue[uint32]{to: &l.MaxConcurrentStream, max: maxInt32}, "grpc-max-concurrent-streams",
		"Most calls that a connection may have at a time; a client keeps further calls back. 0 is no limit.")
	t.value(intValue[uint32]{to: &l.MaxHeaderList, min: 1 << 10, max: maxInt32}, "grpc-max-header-list-size",
		"Most bytes of metadata that a call may have.")
	t.value(intValue[int64]{to: &l.MaxReceiveConn, max: maxInt}, "grpc-max-connection-receive-size",
		"Most bytes that the messages of one connection may take, from their first byte until their calls have ended; a message "+
			"that would take more is refused with RESOURCE_EXHAUSTED. 0 is no limit but that of the server.")
	t.value(intValue[int64]{to: &l.MaxReceiveAll, max: maxInt}, "grpc-max-receive-size",
		"The same for the messages of all connections. 0 is half of the memory of the machine or container.")
	t.MarkOwn("grpc-max-concurrent-streams", "grpc-max-header-list-size", "grpc-max-connection-receive-size", "grpc-max-receive-size")
	t.unused(fixed(2), "grpc-http2-max-pings-without-data", "Pings without data between them.", "the server pings by --grpc-keepalive-time alone")
	t.unused(fixed(2), "grpc-http2-max-ping-strikes", "Pings too many before a connection ends.", "the limit is 2 pings too many")
	infer, pool := int64(2), int64(math.MaxInt32)
	t.unused(intValue[int64]{&infer, 2, 128, "invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128."},
		"grpc-infer-thread-count", "Threads for gRPC inference.", noThreads)
	t.unused(fixed(8), "grpc-infer-allocation-pool-size", "State objects kept for reuse.", noObjects)
	t.unused(intValue[int64]{&pool, 1, maxInt32, "Error: --grpc-max-response-pool-size must be greater than 0."},
		"grpc-max-response-pool-size", "Response objects kept for reuse.", noObjects)
}

func (o *options) bindPlatforms(t *table) {
	s, v := &o.SageMaker, &o.Vertex
	t.Group("Sagemaker")
	t.boolean(&s.Allow, "allow-sagemaker", "Listen for SageMaker requests.")
	t.port(&s.Port, "sagemaker-port", "Port for SageMaker.")
	t.parsed(o.setSafePorts, "", "sagemaker-safe-port-range", "<low>-<high>: ports that the other services may use.")
	t.unused(fixed(8), "sagemaker-thread-count", "Threads for SageMaker.", noThreads)

	t.Group("Vertex")
	o.vertexDefaults()
	t.boolean(&v.Allow, "allow-vertex-ai", "Listen for Vertex AI requests; by default where AIP_MODE is PREDICTION.")
	t.port(&v.Port, "vertex-ai-port", "Port for Vertex AI; by default AIP_HTTP_PORT.")
	t.unused(fixed(8), "vertex-ai-thread-count", "Threads for Vertex AI.", noThreads)
	t.text(&v.DefaultModel, "vertex-ai-default-model", "Model of requests that name none.")
}

func (o *options) bindMetrics(t *table) {
	m := &o.Metrics
	t.Group("Metrics")
	t.boolean(&m.Allow, "allow-metrics", "Serve Prometheus metrics.")
	t.boolean(&m.GPU, "allow-gpu-metrics", "Include GPU metrics.")
	t.boolean(&m.CPU, "allow-cpu-metrics", "Include CPU and memory metrics.")
	t.text(&m.Address, "metrics-address", "Address for metrics; by default that of HTTP.")
	t.port(&m.Port, "metrics-port", "Port for metrics.")
	t.value(fractionValue{timeValue{&m.Interval, time.Millisecond}}, "metrics-interval-ms", "Milliseconds between readings of GPU and CPU metrics.")
	t.list(&o.metrics, checked(metricsSetting), "metrics-config",
		"<setting>=<value>: counter_latencies, summary_latencies, summary_quantiles or histogram_latencies; may be repeated.")
	t.encryption(&m.TLS, "metrics", "metrics")
	t.MarkOwn("metrics-use-ssl", "metrics-use-ssl-mutual", "metrics-server-cert", "metrics-server-key", "metrics-root-cert")

	t.Group("Tracing")
	t.list(&o.traces, checkTrace, "trace-config",
		"<setting>=<value> for mode, level, rate and count, or <mode>,<setting>=<value> for the settings of the mode triton or opentelemetry; may be repeated.")
}

func (o *options) bindBackends(t *table) {
	t.Group("Backend")
	t.text(&o.BackendDirectory, "backend-directory", "Folder of backend libraries; ONNX Runtime may lie in its folder onnxruntime.")
	t.list(&o.backends, checked(backendSetting), "backend-config",
		"<backend>,<setting>=<value> for one backend or <setting>=<value> for all; may be repeated.")
	t.text(&o.library, "onnxruntime-library", "The ONNX Runtime shared library; by default it is looked for beside this program, in lib/ and in the system's folders.")
	t.MarkOwn("onnxruntime-library")

	t.Group("Repository Agent")
	agents := "/opt/tritonserver/repoagents"
	t.unused(textValue(&agents), "repoagent-directory", "Folder of repository agent libraries.",
		"the agent checksum is part of the program, libraries are not loaded")

	t.Group("Response Cache")
	t.list(&o.caches, checked(cacheSetting), "cache-config", "<cache>,<setting>=<value> for the response cache, local or redis; may be repeated.")
	t.unused(textValue(&o.Cache.Directory), "cache-directory", "Folder of cache libraries.", "caches are part of this program, not libraries")
}

func (o *options) bindMachine(t *table) {
	t.Group("Rate Limiter")
	t.parsed(o.setRateLimit, "off", "rate-limit",
		"off runs a batch as soon as an instance is free; execution_count lets instances wait for the resources that they share.")
	t.list(new([]string), o.addRateResource, "rate-limit-resource",
		"<name>:<count>[:<device>]: how much of a resource there is; may be repeated. By default as much as the instance needs that needs most.")

	t.Group("Memory/Device Management")
	pinned := int64(256 << 20)
	t.unused(intValue[int64]{to: &pinned, min: minInt, max: maxInt}, "pinned-memory-pool-byte-size", "Bytes of pinned memory.",
		"there is no pool of pinned memory")
	t.unused(listValue{new([]string), checkDeviceBytes}, "cuda-memory-pool-byte-size", "<gpu>:<bytes> of CUDA memory; may be repeated.", noGPUPool)
	t.unused(listValue{new([]string), checkDeviceBytes}, "cuda-virtual-address-size", "<gpu>:<bytes> of CUDA address space for implicit state; may be repeated.", noGPUPool)
	t.value(floatValue{&o.MinComputeCapability}, "min-supported-compute-capability", "CUDA compute capability that backends are told a GPU must have.")
	t.unused(fixed(0), "buffer-manager-thread-count", "Threads for copies.", "tensors are handed over, not copied")
	t.unused(listValue{&o.hostPolicies, checked(hostPolicy)}, "host-policy", "<policy>,<numa-node or cpu-cores>=<value>; may be repeated.",
		"threads are not bound to cores yet")
	t.list(new([]string), o.addGPULimit, "model-load-gpu-limit",
		"<gpu>:<fraction>: refuse to load a model while more than this share of the GPU's memory is in use; may be repeated.")

	t.Group("Shared Memory")
	t.boolean(&o.ClientMemory, "allow-client-shm", "Let clients register shared memory, of the system and of CUDA, for inputs and outputs.")
}

func (o *options) bindDeprecated(t *table) {
	t.Group("DEPRECATED")
	t.boolean(&o.strictConfig, "strict-model-config", "The opposite of filling in configurations; use --disable-auto-complete-config.")
	t.value(intValue[int64]{to: &o.cacheSize, min: minInt, max: maxInt}, "response-cache-byte-size", "Use --cache-config local,size=<bytes>.")
	o.oldTrace = deprecatedTraces()
	for i := range o.oldTrace {
		d := &o.oldTrace[i]
		t.list(&d.values, d.check, "trace-"+d.setting, "Use --trace-config "+d.form+".")
	}
}
