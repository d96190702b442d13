package cli

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triton/pkg/log"
	"triton/server"
)

// serveFlags are the flags of serve, which are tritonserver's.
type serveFlags struct {
	opts server.Options
	log  log.Settings

	config      string
	library     string // ONNX Runtime
	noComplete  bool
	strictModel bool
	settings    []string // --backend-config
	verbose     int64
	threads     int64
	ports       struct{ http, grpc, metrics int64 }
}

func newServeFlags(set *pflag.FlagSet) (*serveFlags, *flagBook) {
	s := &serveFlags{opts: server.Default(), log: log.DefaultSettings()}
	s.threads = int64(s.opts.LoadThreads)
	s.ports.http, s.ports.grpc, s.ports.metrics = int64(s.opts.HTTP.Port), int64(s.opts.GRPC.Port), int64(s.opts.Metrics.Port)
	b := newFlagBook(set)
	s.defineServer(b)
	s.defineLogging(b)
	s.defineRepository(b)
	s.defineHTTP(b)
	s.defineGRPC(b)
	s.defineMetrics(b)
	s.defineBackends(b)
	s.defineMachine(b)
	s.defineLater(b)
	return s, b
}

// count is an integer flag's value from 1 up.
func count(to *int64) intValue { return intValue{to: to, min: 1, max: math.MaxInt32} }

func port(to *int64) intValue { return intValue{to: to, min: 0, max: 65535} }

// ignored is the value of an integer flag without effect.
func ignored(n int64) intValue { return intValue{to: &n, min: minInt, max: maxInt} }

func (s *serveFlags) defineServer(b *flagBook) {
	b.group("Server")
	b.text(&s.opts.ID, "id", "Name of this server in its metadata.")
	b.duration(&s.opts.ExitTimeout, time.Second, "exit-timeout-secs",
		"Seconds that the end waits for requests in flight; after that the server exits with an error.")
	b.text(&s.config, "config",
		"File with settings: flag names as keys, in YAML, JSON or TOML. A flag wins over the environment variable TRITON_<FLAG>, and that over the file.")
}

func (s *serveFlags) defineLogging(b *flagBook) {
	b.group("Logging")
	b.choice("0", "log-verbose", "Verbose level; 0 is off.", func(v string) error {
		switch strings.ToLower(v) {
		case "true":
			v = "1"
		case "false":
			v = "0"
		}
		return intValue{to: &s.verbose, min: 0, max: math.MaxInt32}.Set(v)
	})
	b.boolean(&s.log.Info, "log-info", "Log informational messages.")
	b.boolean(&s.log.Warning, "log-warning", "Log warnings.")
	b.boolean(&s.log.Error, "log-error", "Log errors.")
	b.choice("default", "log-format", "Form of the lines: default, ISO8601 or json.", func(v string) (err error) {
		s.log.Format, err = log.ParseFormat(v)
		return err
	})
	b.text(&s.log.File, "log-file", "Append all messages to this file instead of writing them to the console.")
}

func (s *serveFlags) defineRepository(b *flagBook) {
	b.group("Model Repository")
	b.list(&s.opts.Repositories, "model-repository", "Folder whose subfolders are models; may be repeated.", nil)
	b.list(&s.opts.Repositories, "model-store", "The same as --model-repository.", nil)
	b.boolean(&s.opts.ExitOnError, "exit-on-error",
		"Exit when a model cannot be loaded at the start. A missing ONNX Runtime library does not count.")
	b.toggle(&s.noComplete, "disable-auto-complete-config",
		"Do not fill in what a configuration leaves out; config.pbtxt must be there and complete.")
	b.boolean(&s.opts.StrictReadiness, "strict-readiness", "Report ready only while all models are.")
	b.choice("none", "model-control-mode", "How models are loaded after the start. Only none is supported yet: all at the start, no changes.",
		func(v string) error {
			switch strings.ToLower(v) {
			case "none":
				return nil
			case "poll", "explicit":
				return errLater("model-control-mode", v, []string{"none"})
			}
			return errors.New("invalid argument for --model-control-mode")
		})
	b.integer(count(&s.threads), "model-load-thread-count", "How many model versions load at the same time.")
}

func (s *serveFlags) defineHTTP(b *flagBook) {
	b.group("HTTP")
	h := &s.opts.HTTP
	b.boolean(&h.Allow, "allow-http", "Listen for HTTP requests.")
	b.text(&h.Address, "http-address", "Address for HTTP.")
	b.integer(port(&s.ports.http), "http-port", "Port for HTTP.")
	b.boolean(&h.Reuse, "reuse-http-port", "Let several servers listen at the same HTTP port.")
	b.integer(intValue{&h.MaxInput, 1, maxInt, "Error: --http-max-input-size must be greater than 0."},
		"http-max-input-size", "Most bytes that a request's body may have.")
	b.unused(ignored(8), "http-thread-count", "Threads for HTTP.")
}

func (s *serveFlags) defineGRPC(b *flagBook) {
	b.group("GRPC")
	g, l := &s.opts.GRPC, &s.opts.GRPC.Limits
	b.boolean(&g.Allow, "allow-grpc", "Listen for gRPC requests.")
	b.text(&g.Address, "grpc-address", "Address for gRPC.")
	b.integer(port(&s.ports.grpc), "grpc-port", "Port for gRPC.")
	b.boolean(&g.Reuse, "reuse-grpc-port", "Let several servers listen at the same gRPC port.")
	b.duration(&l.KeepaliveTime, time.Millisecond, "grpc-keepalive-time", "Milliseconds of silence until a client is pinged.")
	b.duration(&l.KeepaliveTimeout, time.Millisecond, "grpc-keepalive-timeout", "Milliseconds until an unanswered ping ends a connection.")
	b.boolean(&l.PermitWithoutCalls, "grpc-keepalive-permit-without-calls", "Clients may ping while they have no calls.")
	b.duration(&l.MinPingInterval, time.Millisecond, "grpc-http2-min-recv-ping-interval-without-data",
		"Milliseconds between pings that a client must keep.")
	b.duration(&l.MaxConnectionAge, time.Millisecond, "grpc-max-connection-age", "Milliseconds that a connection may last; 0 is no limit.")
	b.duration(&l.MaxConnectionGrace, time.Millisecond, "grpc-max-connection-age-grace",
		"Milliseconds more for the calls of such a connection; 0 is no limit.")
	b.unused(ignored(2), "grpc-http2-max-pings-without-data", "Pings without data between them.")
	b.unused(ignored(2), "grpc-http2-max-ping-strikes", "Pings too many before a connection ends.")
	infer := int64(2)
	b.unused(intValue{&infer, 2, 128, "invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128."},
		"grpc-infer-thread-count", "Threads for gRPC inference.")
	b.unused(ignored(8), "grpc-infer-allocation-pool-size", "State objects kept for reuse.")
	pool := int64(math.MaxInt32)
	b.unused(intValue{&pool, 1, maxInt, "Error: --grpc-max-response-pool-size must be greater than 0."},
		"grpc-max-response-pool-size", "Response objects kept for reuse.")
}

func (s *serveFlags) defineMetrics(b *flagBook) {
	b.group("Metrics")
	m := &s.opts.Metrics
	b.boolean(&m.Allow, "allow-metrics", "Serve Prometheus metrics.")
	b.boolean(&m.GPU, "allow-gpu-metrics", "Include GPU metrics.")
	b.boolean(&m.CPU, "allow-cpu-metrics", "Include CPU and memory metrics.")
	b.text(&m.Address, "metrics-address", "Address for metrics; by default that of HTTP.")
	b.integer(port(&s.ports.metrics), "metrics-port", "Port for metrics.")
	b.duration(&m.Interval, time.Millisecond, "metrics-interval-ms", "Milliseconds between readings of GPU and CPU metrics.")
}

func (s *serveFlags) defineBackends(b *flagBook) {
	b.group("Backend")
	b.text(&s.opts.BackendDirectory, "backend-directory", "Folder of backend libraries; ONNX Runtime may lie in its folder onnxruntime.")
	b.list(&s.settings, "backend-config", "<backend>,<setting>=<value> for one backend or <setting>=<value> for all; may be repeated.",
		func(v string) error { _, _, _, err := backendSetting(v); return err })
	b.text(&s.library, "onnxruntime-library", "The ONNX Runtime shared library; by default it is looked for beside this program, in lib/ and in the system's folders.")
}

func (s *serveFlags) defineMachine(b *flagBook) {
	b.group("Memory and Devices")
	b.unused(floatValue{&s.opts.MinComputeCapability}, "min-supported-compute-capability",
		"CUDA compute capability that a GPU must have to be used.")
	b.unused(ignored(256<<20), "pinned-memory-pool-byte-size", "Bytes of pinned memory.")
	var pool, address []string
	b.unused(listValue{&pool, pair}, "cuda-memory-pool-byte-size", "<gpu>:<bytes> of CUDA memory.")
	b.unused(listValue{&address, pair}, "cuda-virtual-address-size", "<gpu>:<bytes> of CUDA address space.")
	b.unused(ignored(0), "buffer-manager-thread-count", "Threads for copies.")
	peer := true
	b.unused(boolValue{&peer}, "enable-peer-access", "Let GPUs read each other's memory.")
	b.group("Deprecated")
	b.boolean(&s.strictModel, "strict-model-config", "The opposite of filling in configurations; use --disable-auto-complete-config.")
}

// defineLater lists what else Triton has, so that it is not called unknown.
func (s *serveFlags) defineLater(b *flagBook) {
	b.group("Not supported yet")
	for _, name := range []string{"model-namespacing", "grpc-use-ssl", "grpc-use-ssl-mutual", "allow-sagemaker", "allow-vertex-ai", "allow-client-shm"} {
		b.later(name, "false", "off", "0")
	}
	b.later("rate-limit", "off")
	b.later("grpc-infer-response-compression-level", "none")
	b.later("model-load-retry-count", "0")
	b.later("trace-level", "off")
	for _, name := range []string{
		"load-model", "model-config-name", "repository-poll-secs", "http-header-forward-pattern", "http-restricted-api",
		"grpc-header-forward-pattern", "grpc-restricted-protocol", "grpc-server-cert", "grpc-server-key", "grpc-root-cert",
		"sagemaker-port", "sagemaker-safe-port-range", "sagemaker-thread-count",
		"vertex-ai-port", "vertex-ai-thread-count", "vertex-ai-default-model",
		"metrics-config", "trace-config", "trace-file", "trace-rate", "trace-count", "trace-log-frequency",
		"repoagent-directory", "cache-config", "cache-directory", "response-cache-byte-size",
		"rate-limit-resource", "host-policy", "model-load-gpu-limit",
	} {
		b.later(name)
	}
}

// finish carries over what flags could not write themselves. The messages are
// for the console.
func (s *serveFlags) finish() (warnings []string, err error) {
	o := &s.opts
	s.log.Verbose, o.LoadThreads = int(s.verbose), int(s.threads)
	o.HTTP.Port, o.GRPC.Port, o.Metrics.Port = int(s.ports.http), int(s.ports.grpc), int(s.ports.metrics)
	if s.strictModel {
		warnings = append(warnings, "Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.")
	}
	o.AutoComplete = !s.noComplete && !s.strictModel
	o.Settings = map[string]map[string]string{}
	for _, v := range s.settings {
		backend, key, value, err := backendSetting(v)
		if err != nil {
			return nil, badOption("backend-config", err.Error())
		}
		if o.Settings[backend] == nil {
			o.Settings[backend] = map[string]string{}
		}
		o.Settings[backend][key] = value
	}
	return warnings, o.Validate()
}

// backendSetting reads "<backend>,<key>=<value>" or "<key>=<value>".
func backendSetting(arg string) (backend, key, value string, err error) {
	name, rest, named := strings.Cut(arg, ",")
	if !named {
		name, rest = "", arg
	}
	key, value, ok := strings.Cut(rest, "=")
	switch {
	case named && name == "":
		err = said("No backend specified. --backend-config option format is <backend name>,<setting>=<value> or <setting>=<value>. Got %s", arg)
	case !ok || key == "" || value == "" || strings.Contains(name, "="):
		err = said("--backend-config option format is '<backend name>,<setting>=<value>'. Got %s", arg)
	}
	return name, key, value, err
}

func pair(arg string) error {
	if strings.Count(arg, ":") != 1 {
		return said("Cannot parse pair option due to incorrect number of inputs.--<pair option> argument requires format <first>:<second>. Found: %s", arg)
	}
	return nil
}
