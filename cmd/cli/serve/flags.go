package serve

import (
	"math"
	"time"

	"github.com/spf13/pflag"

	"triton/cmd/cli/process"
	"triton/pkg/log"
	"triton/server"
	"triton/server/frontend"
)

// options holds the values of the flags and variables of serve. A flag sets a field of
// server.Options, or a text that finish.go parses after all flags have been read.
type options struct {
	server.Options
	log     log.Settings
	access  bool
	config  string // settings file
	library string // ONNX Runtime

	getenv   func(string) string
	table    *table
	warnings []string

	noComplete, strictConfig       bool
	httpSecrets, grpcSecrets       []string
	vertexPort                     error // mistake in AIP_HTTP_PORT
	metrics, traces                []string
	backends, caches, hostPolicies []string
	cacheSize                      int64
	traceFlags                     []deprecatedTrace
}

// newOptions returns the default options and defines the flags of serve in set.
func newOptions(p process.Process, set *pflag.FlagSet) *options {
	o := &options{Options: server.Default(), log: log.DefaultSettings(), getenv: p.Getenv, table: newTable(p, set)}
	o.log.Raw = p.Getenv("TRITON_SERVER_ESCAPE_LOG_MESSAGES") == "0"
	t := o.table
	o.bindServer(t)
	o.bindModels(t)
	o.bindHTTP(t)
	o.bindGRPC(t)
	o.bindPlatforms(t)
	o.bindAccess(t)
	o.bindMetrics(t)
	o.bindBackends(t)
	o.bindMachine(t)
	o.bindDeprecated(t)
	return o
}

// Reasons why flags have no effect.
const (
	noThreads = "every connection has its own goroutine, and all cores are used"
	noObjects = "memory for messages grows and shrinks with the load"
	noGPUPool = "the execution provider manages the memory of GPUs"
)

func (o *options) bindServer(t *table) {
	t.Group("Server")
	t.text(&o.ID, "id", "Name of the server in its metadata.")
	t.seconds(&o.ExitTimeout, "exit-timeout-secs",
		"Maximum number of seconds that a shutdown waits for requests in flight. After that the server exits with an error.")
	t.parsed(delay(&o.DrainDelay), "0", "drain-delay",
		"Seconds, or a time such as 500ms, that a shutdown accepts requests without being ready, so that load balancers notice, before it waits for those in flight. It does not count towards --exit-timeout-secs.")
	t.value(intValue[int64]{&o.StreamBacklog, 1, maxInt, "Error: --stream-backlog-byte-size must be greater than 0."},
		"stream-backlog-byte-size",
		"Maximum number of bytes of responses that an HTTP or gRPC stream keeps for a client that reads too slowly. Above that the request is cancelled.")
	t.text(&o.config, "config",
		"File with settings in YAML, JSON or TOML; its keys are full flag names. The command line wins over the environment variable TRITON_SERVE_<FLAG>, and the variable over the file.")
	t.parsed(o.setRequestMemory, "", "request-memory-budget",
		"Memory that requests and their replies may use together, over all protocols, such as 2GiB. What does not fit is refused with 503 or RESOURCE_EXHAUSTED. The default is half of what the models and the program leave of the memory of the machine or container.")
	t.MarkOwn("drain-delay", "stream-backlog-byte-size", "request-memory-budget", "config")

	t.Group("Logging")
	t.parsed(o.setVerbose, "0", "log-verbose", "Level of verbose messages. 0 is none; a higher level logs more.")
	t.boolean(&o.log.Info, "log-info", "Log informational messages.")
	t.boolean(&o.log.Warning, "log-warning", "Log warnings.")
	t.boolean(&o.log.Error, "log-error", "Log errors.")
	t.parsed(o.setLogFormat, "default", "log-format", "Format of the lines: default, ISO8601 or json.")
	t.text(&o.log.File, "log-file", "File that all messages are appended to, instead of the console.")
	t.boolean(&o.access, "log-access", "Log each request when it has been answered.")
	t.MarkOwn("log-access")
}

func (o *options) bindModels(t *table) {
	m := &o.Models
	t.Group("Model Repository")
	t.list(&o.Repositories, nil, "model-store", "Another name of --model-repository.")
	t.list(&o.Repositories, nil, "model-repository", "Folder whose subfolders are models, on this machine or in a store: s3://, gs://, as://, oci:// or the https:// address of an archive. May be repeated.")
	o.bindCache(t)
	t.boolean(&o.ExitOnError, "exit-on-error",
		"Exit with an error when a model cannot be loaded at the start. Models that fail only because the ONNX Runtime library is missing do not count.")
	t.toggle(&o.noComplete, "disable-auto-complete-config",
		"Do not complete configurations: each model needs a config.pbtxt with all inputs and outputs.")
	t.boolean(&o.StrictReadiness, "strict-readiness", "Report the server as ready only while all models are ready.")
	t.parsed(o.setReadiness, "", "readiness",
		"Which models the server needs to be ready, instead of --strict-readiness. strict: every model that should be loaded serves; versions that load or unload beside one that serves do not count. any: one model serves. required:<model>[:<version>],...: these serve.")
	t.boolean(&o.ServeWhileLoading, "serve-while-loading",
		"Open the ports before the models are loaded. Until then the server is not live and not ready; /v2/health/ready?verbose shows the progress.")
	t.MarkOwn("readiness", "serve-while-loading")
	t.text(&o.State.From, "state",
		"File, or http or https URL, with the desired state of the server in JSON or YAML: its models with versions and configurations, and settings. The server follows it as it changes. The control mode is explicit.")
	t.seconds(&o.State.Interval, "state-interval-secs", "Seconds from one look at the state and the models to the next.")
	t.boolean(&o.State.Write, "state-write", "Write the loads and unloads of clients to the file of --state. Otherwise they are refused.")
	t.text(&o.State.Cache, "state-cache", "File that keeps the last good state, for starts while the source of --state cannot be read.")
	t.MarkOwn("state", "state-interval-secs", "state-write", "state-cache")
	t.parsed(o.setControl, "none", "model-control-mode",
		"How models are loaded. none: all at the start, without changes later. poll: all at the start, then as files change. explicit: those of --load-model at the start, then by requests of clients. auto: when the first request needs them; idle models are unloaded to make room.")
	t.seconds(&m.PollInterval, "repository-poll-secs", "Mode poll, and mode auto if it is set: seconds from one check of the repositories for changes to the next. 0 is no checks.")
	t.milliseconds(&m.SettleTime, "repository-settle-time", "Mode poll: milliseconds that the files of a model must be unchanged before they are loaded.")
	t.MarkOwn("repository-settle-time")
	t.list(&m.Startup, nil, "load-model", "Modes explicit and auto: name of a model to load at the start. May be repeated; * alone is all models.")
	t.parsed(o.setConfigName, "", "model-config-name",
		"Read the configuration of a model from the file configs/<name>.pbtxt in its folder, where it exists, instead of config.pbtxt.")
	t.value(int32Value(&o.LoadThreads), "model-load-thread-count", "Maximum number of model versions that load at the same time.")
	t.value(int32Value(&m.Retries), "model-load-retry-count", "Number of times that a failed load is repeated.")
	t.parsed(o.setIsolation, "none", "isolation",
		"none: models run in the process of the server. process: each model version runs in a process of its own, so that a crash costs only its own requests. The parameter isolation of a model's configuration overrides it.")
	o.bindIsolation(t)
	t.text(&o.CanaryRecord, "canary-record", "File in which the states of canaries are kept, so that they go on after a restart instead of with their first step.")
	t.MarkOwn("canary-record")
	t.boolean(&m.Namespacing, "model-namespacing", "Allow models of the same name in different repositories.")
	t.list(new([]string), o.addBudget, "memory-budget",
		"Mode auto: memory for models, as [<device>=]<amount>. The device is cpu, the default, or gpu:<index>; the amount is such as 8GiB, or 60% of all memory. May be repeated. The default is 80% of the memory that is free at the start, on a GPU 90%.")
	t.parsed(o.setKeepAlive, "-1", "model-keep-alive-secs", "Mode auto: seconds after which an idle model is unloaded. 0 is at once, -1 only to make room.")
	t.list(&m.OnDemand.Pinned, nil, "pin-model", "Mode auto: name of a model that is loaded at the start and not unloaded to make room. May be repeated.")
	t.seconds(&m.OnDemand.Timeout, "auto-load-timeout-secs", "Mode auto: maximum number of seconds that a request waits for the load of its model.")
	t.value(int32Value(&m.OnDemand.MaxWaiting), "auto-load-max-waiting", "Mode auto: maximum number of requests that wait for loads at a time.")
	t.text(&m.MemoryRecord, "memory-record", "File in which the measured memory of models is kept, so that estimates are right after a restart.")
	t.MarkOwn("memory-budget", "model-keep-alive-secs", "pin-model", "auto-load-timeout-secs", "auto-load-max-waiting", "memory-record")
	peer := true
	t.unused(boolValue{&peer}, "enable-peer-access", "Let GPUs read each other's memory.", "the execution provider decides about it")
}

func (o *options) bindHTTP(t *table) {
	h := &o.HTTP
	t.Group("HTTP")
	h.Allow = !o.onVertexAI()
	t.boolean(&h.Allow, "allow-http", "Serve HTTP.")
	t.text(&h.Address, "http-address", "Address to listen at for HTTP.")
	t.port(&h.Port, "http-port", "Port to listen at for HTTP.")
	t.boolean(&h.Reuse, "reuse-http-port", "Let several servers listen at the HTTP port (SO_REUSEPORT).")
	t.parsed(headerPattern(&h.Forward), "", "http-header-forward-pattern",
		"Regular expression. HTTP headers whose names match become parameters of inference requests.")
	t.unused(ignoredInt(8), "http-thread-count", "Number of threads for HTTP.", noThreads)
	t.value(intValue[int64]{&h.MaxInput, 1, maxInt, "Error: --http-max-input-size must be greater than 0."},
		"http-max-input-size", "Maximum number of bytes of JSON in a request, and of a compressed body after decompression. Binary tensors in other bodies do not count.")
	t.value(intValue[int64]{&h.MinRate, 0, maxInt32, "Error: --http-min-receive-rate must not be negative."},
		"http-min-receive-rate",
		"Minimum rate of a body in bytes per second, on average over 2 minutes. A slower request is refused. With 0 a body may take any time, as long as a byte arrives every 2 minutes.")
	t.value(intValue[int]{&h.MaxConnections, 0, maxInt32, "Error: --http-max-connections must not be negative."},
		"http-max-connections", "Maximum number of open HTTP connections. Further connections are answered with 503 and closed. 0 is no limit.")
	t.list(&o.httpSecrets, checkSecrets(frontend.RestrictedAPI, &o.httpSecrets), "http-restricted-api", secretsUsage)
	t.encryption(&h.TLS, "http", "HTTP")
	t.list(&h.Origins, nil, "http-allow-origin",
		"Web origin, such as https://example.com, whose pages may call this server from a browser. * is all origins. May be repeated.")
	t.boolean(&o.OnePort, "http-grpc-one-port",
		"Serve gRPC and gRPC-Web at the HTTP port, and open no gRPC port. Needs --grpc-transport=builtin.")
	t.MarkOwn("http-grpc-one-port", "http-min-receive-rate", "http-max-connections", "http-use-ssl", "http-use-ssl-mutual", "http-server-cert", "http-server-key", "http-root-cert", "http-allow-origin")
}

func (o *options) bindGRPC(t *table) {
	g, l := &o.GRPC, &o.GRPC.Frontend
	t.Group("GRPC")
	g.Allow = !o.onVertexAI()
	t.boolean(&g.Allow, "allow-grpc", "Serve gRPC.")
	t.text(&g.Address, "grpc-address", "Address to listen at for gRPC.")
	t.port(&g.Port, "grpc-port", "Port to listen at for gRPC.")
	t.boolean(&g.Reuse, "reuse-grpc-port", "Let several servers listen at the gRPC port (SO_REUSEPORT).")
	t.parsed(headerPattern(&l.Forward), "", "grpc-header-forward-pattern",
		"Regular expression. gRPC metadata whose names match become parameters of inference requests.")
	t.encryption(&g.TLS, "grpc", "gRPC")
	t.parsed(o.setCompression, "none", "grpc-infer-response-compression-level",
		"Compression of inference responses: none, low, medium or high.")
	t.list(&o.grpcSecrets, checkSecrets(frontend.RestrictedProtocol, &o.grpcSecrets), "grpc-restricted-protocol", secretsUsage)
	t.milliseconds(&l.KeepaliveTime, "grpc-keepalive-time", "Milliseconds without traffic after which the server pings a client.")
	t.milliseconds(&l.KeepaliveTimeout, "grpc-keepalive-timeout", "Milliseconds that the server waits for the answer to its ping before it closes the connection.")
	t.boolean(&l.PermitWithoutCalls, "grpc-keepalive-permit-without-calls", "Let clients ping while they have no calls.")
	t.milliseconds(&l.MinPingInterval, "grpc-http2-min-recv-ping-interval-without-data",
		"Minimum number of milliseconds between two pings of a client. A client that pings more often is disconnected.")
	t.milliseconds(&l.MaxConnectionAge, "grpc-max-connection-age", "Milliseconds after which a connection takes no new calls. 0 is no limit.")
	t.milliseconds(&l.MaxConnectionGrace, "grpc-max-connection-age-grace",
		"Milliseconds that the open calls of such a connection may still take. 0 is no limit.")
	t.value(intValue[uint32]{to: &l.MaxConcurrentStream, max: maxInt32}, "grpc-max-concurrent-streams",
		"Maximum number of concurrent calls of a connection. The client holds back further calls. 0 is no limit.")
	t.value(intValue[uint32]{to: &l.MaxHeaderList, min: 1 << 10, max: maxInt32}, "grpc-max-header-list-size",
		"Maximum size in bytes of the metadata of a call.")
	t.value(intValue[int64]{to: &l.MaxReceiveConn, max: maxInt}, "grpc-max-connection-receive-size",
		"Maximum number of bytes of the messages in flight of one connection. A message is in flight from its first byte until its call has ended. "+
			"A message above the limit is refused with RESOURCE_EXHAUSTED. 0 leaves only --request-memory-budget.")
	t.parsed(o.setTransport, "grpc-go", "grpc-transport",
		"What serves gRPC connections: grpc-go, or builtin, the server's own transport, which needs less CPU and is new.")
	t.MarkOwn("grpc-transport", "grpc-max-concurrent-streams", "grpc-max-header-list-size", "grpc-max-connection-receive-size")
	t.unused(ignoredInt(2), "grpc-http2-max-pings-without-data", "Maximum number of pings of the server without data between them.", "only --grpc-keepalive-time decides when the server pings")
	t.unused(ignoredInt(2), "grpc-http2-max-ping-strikes", "Early pings of a client after which its connection is closed.", "the limit is always 2")
	infer, pool := int64(2), int64(math.MaxInt32)
	t.unused(intValue[int64]{&infer, 2, 128, "invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128."},
		"grpc-infer-thread-count", "Number of threads for gRPC inference.", noThreads)
	t.unused(ignoredInt(8), "grpc-infer-allocation-pool-size", "Number of state objects that are kept for reuse.", noObjects)
	t.unused(intValue[int64]{&pool, 1, maxInt32, "Error: --grpc-max-response-pool-size must be greater than 0."},
		"grpc-max-response-pool-size", "Number of response objects that are kept for reuse.", noObjects)
}

func (o *options) bindPlatforms(t *table) {
	s, v := &o.SageMaker, &o.Vertex
	t.Group("Sagemaker")
	t.boolean(&s.Allow, "allow-sagemaker", "Serve the API of Amazon SageMaker.")
	t.port(&s.Port, "sagemaker-port", "Port to listen at for SageMaker.")
	t.parsed(o.setSafePorts, "", "sagemaker-safe-port-range", "<low>-<high>: the ports that other services may use.")
	t.unused(ignoredInt(8), "sagemaker-thread-count", "Number of threads for SageMaker.", noThreads)

	t.Group("Vertex")
	o.vertexDefaults()
	t.boolean(&v.Allow, "allow-vertex-ai", "Serve the API of Vertex AI. The default is true where AIP_MODE is PREDICTION.")
	t.port(&v.Port, "vertex-ai-port", "Port to listen at for Vertex AI. The default is AIP_HTTP_PORT, where it is set.")
	t.unused(ignoredInt(8), "vertex-ai-thread-count", "Number of threads for Vertex AI.", noThreads)
	t.text(&v.DefaultModel, "vertex-ai-default-model", "Model for requests that name no model.")
}

func (o *options) bindMetrics(t *table) {
	m := &o.Metrics
	t.Group("Metrics")
	t.boolean(&m.Allow, "allow-metrics", "Serve metrics for Prometheus.")
	t.boolean(&m.GPU, "allow-gpu-metrics", "Include GPU metrics.")
	t.boolean(&m.CPU, "allow-cpu-metrics", "Include CPU and memory metrics.")
	t.text(&m.Address, "metrics-address", "Address to listen at for metrics. The default is --http-address.")
	t.port(&m.Port, "metrics-port", "Port to listen at for metrics.")
	t.value(fractionValue{timeValue{&m.Interval, time.Millisecond}}, "metrics-interval-ms", "Milliseconds from one reading of GPU and CPU metrics to the next.")
	t.list(&o.metrics, checked(metricsSetting), "metrics-config",
		"<setting>=<value>, with the settings counter_latencies, summary_latencies, summary_quantiles and histogram_latencies. May be repeated.")
	t.encryption(&m.TLS, "metrics", "metrics")
	t.MarkOwn("metrics-use-ssl", "metrics-use-ssl-mutual", "metrics-server-cert", "metrics-server-key", "metrics-root-cert")

	t.Group("Tracing")
	t.list(&o.traces, checkTrace, "trace-config",
		"<setting>=<value>, with the settings mode, level, rate and count, or <mode>,<setting>=<value> for the settings of mode triton or opentelemetry. May be repeated.")
}

func (o *options) bindBackends(t *table) {
	t.Group("Backend")
	t.text(&o.BackendDirectory, "backend-directory", "Folder of backends: folders with a model.py, and ONNX Runtime in onnxruntime.")
	t.list(&o.backends, checked(backendSetting), "backend-config",
		"<backend>,<setting>=<value> for one backend, or <setting>=<value> for all. May be repeated.")
	t.text(&o.library, "onnxruntime-library", "File of the ONNX Runtime shared library. By default it is looked for beside this program, in lib/ and in the folders of the system.")
	t.MarkOwn("onnxruntime-library")

	t.Group("Repository Agent")
	t.text(&o.Agents.Directory, "repoagent-directory",
		"Folder of repository agent libraries, <agent>/libtritonrepoagent_<agent>.so. If it is given, a library there replaces the agent of this program that has the same name, which is checksum.")

	t.Group("Response Cache")
	t.list(&o.caches, checked(cacheSetting), "cache-config", "<cache>,<setting>=<value> for the response cache; <cache> is local, redis or the name of a library. May be repeated.")
	t.text(&o.Cache.Directory, "cache-directory",
		"Folder of cache libraries, <cache>/libtritoncache_<cache>.so. If it is given, a library there replaces the cache of this program that has the same name.")
}

func (o *options) bindMachine(t *table) {
	t.Group("Rate Limiter")
	t.parsed(o.setRateLimit, "off", "rate-limit",
		"off: instances run without limits. execution_count: before each batch an instance waits for the resources that its configuration names; instances that ran less often come first.")
	t.list(new([]string), o.addRateResource, "rate-limit-resource",
		"<name>:<count>[:<device>]: available units of a resource, on one device or, without <device>, on each. May be repeated. By default a resource has as many units as the largest request of an instance.")

	t.Group("Memory/Device Management")
	pinned := int64(256 << 20)
	t.unused(intValue[int64]{to: &pinned, min: minInt, max: maxInt}, "pinned-memory-pool-byte-size", "Size of the pool of pinned memory in bytes.",
		"there is no pool of pinned memory")
	t.unused(listValue{new([]string), checkDeviceBytes}, "cuda-memory-pool-byte-size", "<gpu>:<bytes>: size of the pool of CUDA memory. May be repeated.", noGPUPool)
	t.unused(listValue{new([]string), checkDeviceBytes}, "cuda-virtual-address-size", "<gpu>:<bytes>: size of the CUDA address space for implicit state. May be repeated.", noGPUPool)
	t.value(floatValue{&o.MinComputeCapability}, "min-supported-compute-capability", "Minimum CUDA compute capability of a GPU that runs models.")
	t.value(intValue[int64]{to: &o.Bounds.Instances, min: 1, max: maxInt32}, "model-max-instances", "Maximum number of instances of a model version. A configuration with more is refused.")
	t.value(intValue[int64]{to: &o.Bounds.Threads, min: 1, max: maxInt32}, "model-max-threads", "Maximum number of threads that a parameter of a model asks for, such as intra_op_thread_count.")
	t.value(intValue[int64]{to: &o.Bounds.WarmUpRequests, min: 1, max: maxInt}, "model-max-warmup-requests", "Maximum number of requests of the warm-up samples of a model together: count times batch_size.")
	t.value(intValue[int64]{to: &o.Bounds.WarmUpBytes, min: 1, max: maxInt}, "model-max-warmup-bytes", "Maximum size in bytes of the inputs of the warm-up samples of a model together.")
	t.value(intValue[int64]{to: &o.Bounds.StateBytes, min: 1, max: maxInt}, "model-max-state-bytes", "Maximum size in bytes of the implicit states of a sequence when it begins.")
	t.MarkOwn("model-max-instances", "model-max-threads", "model-max-warmup-requests", "model-max-warmup-bytes", "model-max-state-bytes")
	t.unused(ignoredInt(0), "buffer-manager-thread-count", "Number of threads that copy tensors.", "tensors are passed on by reference")
	t.value(listValue{&o.hostPolicies, checked(hostPolicy)}, "host-policy", "<policy>,cpu-cores=<first>-<last>[,<first>-<last>...] or <policy>,numa-node=<node>: processors, or node of the memory, of the threads of the instances that have this host policy. Without host_policy in the instance group it is cpu, gpu_<device> or model. May be repeated.")
	t.list(new([]string), o.addGPULimit, "model-load-gpu-limit",
		"<gpu>:<fraction>: refuse to load a model while more than this fraction of the GPU's memory is in use. May be repeated.")

	t.Group("Shared Memory")
	t.boolean(&o.ClientSharedMemory, "allow-client-shm", "Let clients register system and CUDA shared memory for inputs and outputs.")
}

func (o *options) bindDeprecated(t *table) {
	t.Group("DEPRECATED")
	t.boolean(&o.strictConfig, "strict-model-config", "Do not complete configurations. Use --disable-auto-complete-config.")
	t.value(intValue[int64]{to: &o.cacheSize, min: minInt, max: maxInt}, "response-cache-byte-size", "Use --cache-config local,size=<bytes>.")
	o.traceFlags = deprecatedTraces()
	for i := range o.traceFlags {
		d := &o.traceFlags[i]
		t.list(&d.values, d.check, "trace-"+d.setting, "Use --trace-config "+d.replacement+".")
	}
}
