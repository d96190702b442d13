package perf

import (
	"fmt"
	"strings"
)

// unsupported are perf_analyzer's options that are not implemented. An argument other than
// the default, which has no effect, is an error.
var unsupported = []struct{ name, argument, neutral string }{
	{"periodic-concurrency-range", "<start:end:step>", ""},
	{"request-period", "<n>", ""},
	{"session-concurrency", "<n>", ""},
	{"fixed-schedule", "", ""},
	{"bls-composing-models", "<list>", ""},
	{"model-signature-name", "<name>", ""},
	{"endpoint", "<path>", ""},
	{"grpc-method", "<name>", ""},
	{"triton-server-directory", "<dir>", ""},
	{"model-repository", "<dir>", ""},
	{"grpc-compression-algorithm", "<name>", "none"},
	{"request-parameter", "<name:value:type>", ""},
	{"shared-memory", "<kind>", "none"},
	{"output-shared-memory-size", "<bytes>", ""},
	{"input-tensor-format", "<format>", "binary"},
	{"output-tensor-format", "<format>", "binary"},
	{"trace-level", "<level>", ""},
	{"trace-rate", "<n>", ""},
	{"trace-count", "<n>", ""},
	{"log-frequency", "<n>", ""},
	{"enable-mpi", "", ""},
	{"ssl-grpc-use-ssl", "", ""},
	{"ssl-grpc-root-certifications-file", "<file>", ""},
	{"ssl-grpc-private-key-file", "<file>", ""},
	{"ssl-grpc-certificate-chain-file", "<file>", ""},
	{"ssl-https-verify-peer", "<0|1>", ""},
	{"ssl-https-verify-host", "<0|1|2>", ""},
	{"ssl-https-ca-certificates-file", "<file>", ""},
	{"ssl-https-client-certificate-file", "<file>", ""},
	{"ssl-https-client-certificate-type", "<type>", ""},
	{"ssl-https-private-key-file", "<file>", ""},
	{"ssl-https-private-key-type", "<type>", ""},
}

func (t table) unsupported() {
	for _, u := range unsupported {
		set := func(text string) error {
			if u.neutral != "" && strings.EqualFold(text, u.neutral) {
				return nil
			}
			return fmt.Errorf("--%s is not supported yet", u.name)
		}
		f := t.Add(option{u.argument, set}, u.name, "", "not supported yet")
		if u.argument == "" {
			f.NoOptDefVal = "true"
		}
	}
}
