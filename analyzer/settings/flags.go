package settings

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// dictionary says which flags of a program a file may set.
type dictionary struct {
	known     []string
	repeated  []string // may be lists; nil means all
	underline bool     // names may be written with underscores
}

func (d dictionary) has(name string) bool { return slices.Contains(d.known, name) }

func (d dictionary) takesList(name string) bool {
	return d.repeated == nil || slices.Contains(d.repeated, name)
}

// flagsValue is a mapping of flags to texts. It has no form for the command line.
type flagsValue struct {
	to *Flags
	dictionary
}

func (v flagsValue) Set(string) error { return errFileOnly }
func (v flagsValue) String() string   { return "" }
func (v flagsValue) Type() string     { return "mapping" }
func (v flagsValue) decode(f field) {
	if !f.object() {
		return
	}
	flags := Flags{}
	for _, m := range f.members() {
		name := m.key
		if v.underline {
			name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		}
		if !v.has(name) {
			f.unknownKey(m, v.known)
			continue
		}
		if m.node.Kind == yaml.SequenceNode && v.takesList(name) {
			flags = append(flags, Flag{name, m.texts()})
			continue
		}
		if text, ok := m.scalar(); ok {
			flags = append(flags, Flag{name, []string{text}})
		}
	}
	*v.to = flags
}

// setFlag replaces or adds a flag.
func (f *Flags) setFlag(name, value string) {
	for i := range *f {
		if (*f)[i].Name == name {
			(*f)[i].Values = []string{value}
			return
		}
	}
	*f = append(*f, Flag{name, []string{value}})
}

var perfFlags = dictionary{
	known: strings.Fields(`model-name model-version batch-size url protocol latency-report-file http-header
		verbose extra-verbose verbose-csv
		model-signature-name async sync measurement-interval concurrency-range request-rate-range request-distribution
		request-intervals binary-search num-of-sequences latency-threshold max-threads stability-percentage max-trials
		percentile input-data shared-memory output-shared-memory-size shape sequence-length sequence-id-range
		string-length string-data measurement-mode measurement-request-count streaming grpc-compression-algorithm
		service-kind triton-server-directory model-repository
		ssl-grpc-use-ssl ssl-grpc-root-certifications-file ssl-grpc-private-key-file ssl-grpc-certificate-chain-file
		ssl-https-verify-peer ssl-https-verify-host ssl-https-ca-certificates-file ssl-https-client-certificate-type
		ssl-https-client-certificate-file ssl-https-private-key-type ssl-https-private-key-file
		collect-metrics metrics-url metrics-interval bls-composing-models`),
	repeated: []string{"input-data", "shape"},
}

var genAIPerfFlags = dictionary{
	known: strings.Fields(`backend endpoint service-kind url expected-output-tokens input-dataset input-tokens-mean
		input-tokens-stddev input-type num-of-output-prompts random-seed streaming tokenizer`),
	repeated: []string{},
}

var serverFlags = dictionary{
	known: strings.Fields(`id exit-timeout-secs log-verbose log-info log-warning log-error log-format log-file
		model-store model-repository exit-on-error disable-auto-complete-config strict-readiness model-control-mode model-config-name
		repository-poll-secs load-model model-load-thread-count model-load-retry-count model-namespacing
		allow-http http-address http-port reuse-http-port http-header-forward-pattern http-thread-count http-restricted-api
		allow-grpc grpc-address grpc-port reuse-grpc-port grpc-header-forward-pattern grpc-infer-allocation-pool-size
		grpc-use-ssl grpc-use-ssl-mutual grpc-server-cert grpc-server-key grpc-root-cert
		grpc-infer-response-compression-level grpc-keepalive-time grpc-keepalive-timeout
		grpc-keepalive-permit-without-calls grpc-http2-max-pings-without-data
		grpc-http2-min-recv-ping-interval-without-data grpc-http2-max-ping-strikes grpc-max-connection-age
		grpc-max-connection-age-grace grpc-restricted-protocol
		allow-sagemaker sagemaker-port sagemaker-safe-port-range sagemaker-thread-count
		allow-vertex-ai vertex-ai-port vertex-ai-thread-count vertex-ai-default-model
		allow-metrics allow-gpu-metrics allow-cpu-metrics metrics-address metrics-port metrics-interval-ms metrics-config
		trace-config backend-directory backend-config repoagent-directory cache-config cache-directory
		rate-limit rate-limit-resource pinned-memory-pool-byte-size cuda-memory-pool-byte-size cuda-virtual-address-size
		min-supported-compute-capability buffer-management-thread-count host-policy model-load-gpu-limit
		strict-model-config response-cache-byte-size trace-file trace-level trace-rate trace-count trace-log-frequency`),
	underline: true,
}

// Types of arguments of Docker.
var dockerArguments = func() map[string]byte {
	all := map[string]byte{}
	for kind, names := range map[byte]string{
		's': `image command cgroup_parent cgroupns cpuset_cpus cpuset_mems domainname entrypoint hostname init_path ipc_mode
			isolation kernel_memory mac_address mem_limit mem_reservation memswap_limit name network network_mode pid_mode
			platform runtime shm_size stop_signal user userns_mode uts_mode version volume_driver working_dir`,
		'b': `auto_remove detach init network_disabled oom_kill_disable privileged publish_all_ports remove stdin_open stdout
			stderr stream tty use_config_proxy`,
		'i': `blkio_weight cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period cpu_shares nano_cpus oom_score_adj pids_limit`,
		'l': `blkio_weight_device cap_add cap_drop environment labels volumes`,
	} {
		for _, name := range strings.Fields(names) {
			all[name] = kind
		}
	}
	return all
}()

// dockerValue is a mapping of arguments of Docker. It has no form for the command line.
type dockerValue struct{ to *map[string]any }

func (v dockerValue) Set(string) error { return errFileOnly }
func (v dockerValue) String() string   { return "" }
func (v dockerValue) Type() string     { return "mapping" }
func (v dockerValue) decode(f field) {
	if !f.object() {
		return
	}
	args := map[string]any{}
	for _, m := range f.members() {
		switch dockerArguments[m.key] {
		case 's':
			if text, ok := m.scalar(); ok {
				args[m.key] = text
			}
		case 'b':
			var b bool
			boolValue(&b).decode(m)
			args[m.key] = b
		case 'i':
			var n int64
			int64Value(&n).decode(m)
			args[m.key] = n
		case 'l':
			args[m.key] = m.texts()
		default:
			f.unknownKey(m, sortedKeys(dockerArguments))
		}
	}
	*v.to = args
}
