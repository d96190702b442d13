package cli

const (
	groupMeasure = "I. MEASUREMENT PARAMETERS"
	groupData    = "II. INPUT DATA OPTIONS"
	groupServer  = "III. SERVER DETAILS"
	groupOther   = "IV. OTHER OPTIONS"
)

var perfGroups = []string{groupMeasure, groupData, groupServer, groupOther}

// perfOptions are perf_analyzer's options. Those marked later are known, so that
// a command line made for it gets a clear answer.
var perfOptions = []option{
	{short: 'm', value: "<model>", group: groupMeasure, help: "the model to measure; required"},
	{short: 'x', value: "<version>", group: groupMeasure, help: "its version (the server's choice)"},
	{long: "concurrency-range", value: "<start:end:step>", group: groupMeasure, help: "concurrent requests to measure at; end 0 goes on to the latency threshold (1:1:1)"},
	{long: "measurement-mode", value: "<time_windows|count_windows>", group: groupMeasure, help: "what bounds a window (time_windows)"},
	{long: "measurement-interval", short: 'p', value: "<msec>", group: groupMeasure, help: "length of a time window; the real one is 1.2 times as long (5000)"},
	{long: "measurement-request-count", value: "<n>", group: groupMeasure, help: "requests in a count window (50)"},
	{long: "stability-percentage", short: 's', value: "<percent>", group: groupMeasure, help: "how far three windows in a row may lie apart (10)"},
	{long: "max-trials", short: 'r', value: "<n>", group: groupMeasure, help: "windows to try at each level (10)"},
	{long: "percentile", value: "<1..99>", group: groupMeasure, help: "judge and report this latency instead of the average (-1)"},
	{long: "latency-threshold", short: 'l', value: "<msec>", group: groupMeasure, help: "stop at the first level that is slower (0, none)"},
	{long: "binary-search", group: groupMeasure, help: "find the highest concurrency within the latency threshold"},
	{long: "request-count", value: "<n>", group: groupMeasure, help: "send so many requests and stop (0, off)"},
	{long: "warmup-request-count", value: "<n>", group: groupMeasure, help: "requests to send before measuring (0)"},
	{long: "async", short: 'a', group: groupMeasure, help: "judge stability as for asynchronous calls: the throughput alone will do"},
	{long: "sync", group: groupMeasure, help: "synchronous calls (this is the default)"},
	{long: "max-threads", value: "<n>", group: groupMeasure, help: "accepted; each concurrent request has a goroutine of its own"},
	{short: 'b', value: "<n|list|range>", group: groupData, help: "batch size; a list 1,4,16 or a range 1:16 or 1:16:5 is swept (1)"},
	{long: "input-data", value: "<random|zero|path>", group: groupData, help: "input data: a JSON file (may be repeated) or a directory (random)"},
	{long: "shape", value: "<name:d1,d2>", group: groupData, help: "shape of an input with variable dimensions; may be repeated"},
	{long: "string-length", value: "<n>", group: groupData, help: "length of random strings (128)"},
	{long: "string-data", value: "<text>", group: groupData, help: "the string to send instead of random ones"},
	{short: 'u', value: "<host:port>", group: groupServer, help: "the server (localhost:8000, with gRPC localhost:8001)"},
	{short: 'i', value: "<http|grpc>", group: groupServer, help: "protocol (http)"},
	{short: 'H', value: "<name:value>", group: groupServer, help: "header or gRPC metadata to send along; may be repeated"},
	{long: "service-kind", value: "<triton>", group: groupServer, help: "kind of server (triton)"},
	{short: 'f', value: "<file>", group: groupOther, help: "write a CSV report"},
	{long: "verbose-csv", group: groupOther, help: "more columns in it"},
	{long: "collect-metrics", group: groupOther, help: "read the server's GPU metrics during the measurement"},
	{long: "metrics-url", value: "<url>", group: groupOther, help: "where they are (port 8002 of the server, /metrics)"},
	{long: "metrics-interval", value: "<msec>", group: groupOther, help: "how often to read them (1000)"},
	{long: "table", value: "<auto|always|never>", group: groupOther, exact: true, help: "closing table; auto is on a terminal and for several batch sizes (auto)"},
	{long: "config", value: "<file>", group: groupOther, exact: true, help: "file with settings: long options and their values"},
	{long: "version", group: groupOther, help: "print the version"},
	{short: 'v', group: groupOther, help: "print every window"},
	{long: "help", short: 'h', group: groupOther, help: "print this"},

	{short: 't', value: "<n>", group: "", help: "deprecated"},
	{short: 'c', value: "<n>", group: "", help: "deprecated"},
	{short: 'd', group: "", help: "deprecated"},
	{short: 'z', group: "", help: "deprecated"},
	{long: "data-directory", value: "<dir>", group: "", help: "deprecated"},

	{long: "streaming", later: true},
	{long: "request-rate-range", value: "<start:end:step>", later: true},
	{long: "request-distribution", value: "<poisson|constant>", later: true},
	{long: "request-intervals", value: "<file>", later: true},
	{long: "periodic-concurrency-range", value: "<start:end:step>", later: true},
	{long: "request-period", value: "<n>", later: true},
	{long: "session-concurrency", value: "<n>", later: true},
	{long: "fixed-schedule", later: true},
	{long: "num-of-sequences", value: "<n>", later: true},
	{long: "serial-sequences", later: true},
	{long: "sequence-length", value: "<n>", later: true},
	{long: "sequence-length-variation", value: "<percent>", later: true},
	{long: "sequence-id-range", value: "<start:end>", later: true},
	{long: "bls-composing-models", value: "<list>", later: true},
	{long: "model-signature-name", value: "<name>", later: true},
	{long: "endpoint", value: "<path>", later: true},
	{long: "grpc-method", value: "<name>", later: true},
	{long: "triton-server-directory", value: "<dir>", later: true},
	{long: "model-repository", value: "<dir>", later: true},
	{long: "grpc-compression-algorithm", value: "<name>", later: true},
	{long: "request-parameter", value: "<name:value:type>", later: true},
	{long: "shared-memory", value: "<kind>", later: true},
	{long: "output-shared-memory-size", value: "<bytes>", later: true},
	{long: "input-tensor-format", value: "<format>", later: true},
	{long: "output-tensor-format", value: "<format>", later: true},
	{long: "profile-export-file", value: "<file>", later: true},
	{long: "trace-level", value: "<level>", later: true},
	{long: "trace-rate", value: "<n>", later: true},
	{long: "trace-count", value: "<n>", later: true},
	{long: "log-frequency", value: "<n>", later: true},
	{long: "enable-mpi", later: true},
	{long: "ssl-grpc-use-ssl", later: true},
	{long: "ssl-grpc-root-certifications-file", value: "<file>", later: true},
	{long: "ssl-grpc-private-key-file", value: "<file>", later: true},
	{long: "ssl-grpc-certificate-chain-file", value: "<file>", later: true},
	{long: "ssl-https-verify-peer", value: "<0|1>", later: true},
	{long: "ssl-https-verify-host", value: "<0|1|2>", later: true},
	{long: "ssl-https-ca-certificates-file", value: "<file>", later: true},
	{long: "ssl-https-client-certificate-file", value: "<file>", later: true},
	{long: "ssl-https-client-certificate-type", value: "<type>", later: true},
	{long: "ssl-https-private-key-file", value: "<file>", later: true},
	{long: "ssl-https-private-key-type", value: "<type>", later: true},
}

// harmless are values of options we do not have that ask for nothing.
var harmless = map[string]string{
	"shared-memory":              "none",
	"grpc-compression-algorithm": "none",
	"input-tensor-format":        "binary",
	"output-tensor-format":       "binary",
	"request-distribution":       "constant",
}
