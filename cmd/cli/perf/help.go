package perf

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"triton/cmd/cli/process"
)

const (
	helpText = `Measure a model on a running server: put it under load, take windows until
throughput and latency are stable, level by level. Options, text and CSV are
those of NVIDIA's perf_analyzer.`
	helpExample = `  triton perf -m resnet50 --concurrency-range 1:4
  triton perf -m resnet50 -b 1,4,16 -i grpc --concurrency-range 1:8 -f report.csv
  triton perf -m resnet50 -m bert --concurrency-range 4
  triton perf run -m resnet50 --input images.npy --output classes.jsonl`
)

func writeHelp(w io.Writer, p process.Process) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: triton perf -m MODEL [options]\n       triton perf run -m MODEL --input FILE --output FILE [options]\n       triton perf report|compare|llm FILE...\n       triton perf record [options]\n       triton perf replay TRACE [options]\n\n%s\n", helpText, helpExample)
	set := newOptions().flags(p)
	for _, group := range set.Groups() {
		if group.Title == "" {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", group.Title)
		for _, name := range group.Names {
			f := set.Lookup(name)
			fmt.Fprintf(&b, "  %-46s %s\n", synopsis(f), f.Usage)
		}
	}
	b.WriteString("\nA long option may be abbreviated to any unique prefix. Long options may also come from the\nenvironment, as TRITON_PERF_MEASUREMENT_INTERVAL for --measurement-interval.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func synopsis(f *pflag.Flag) string {
	name := typedName(f.Name)
	if f.Shorthand != "" && name != "-"+f.Shorthand {
		name += " (-" + f.Shorthand + ")"
	}
	return strings.TrimSpace(name + " " + f.Value.Type())
}
