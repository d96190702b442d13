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
	{"model-signature-name", "<name>", ""},
	{"endpoint", "<path>", ""},
	{"grpc-method", "<name>", ""},
	{"triton-server-directory", "<dir>", ""},
	{"model-repository", "<dir>", ""},
	{"shared-memory", "<kind>", "none"},
	{"output-shared-memory-size", "<bytes>", ""},
	{"input-tensor-format", "<format>", "binary"},
	{"output-tensor-format", "<format>", "binary"},
}

func (t table) unsupported() {
	for _, u := range unsupported {
		set := func(text string) error {
			if u.neutral != "" && strings.EqualFold(text, u.neutral) {
				return nil
			}
			return fmt.Errorf("--%s is not supported yet", u.name)
		}
		t.Add(option{u.argument, set}, u.name, "", "not supported yet")
	}
}
