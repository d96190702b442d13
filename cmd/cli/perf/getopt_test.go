package perf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
)

// TestGetopt splits command lines as getopt_long does; the result is written as
// "name=argument".
func TestGetopt(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"-avp50x nothing -mnull":       "async= print-windows= measurement-interval=50x model=null",
		"-p=5":                         "measurement-interval==5",
		"--stab=5 --conc 2:3 -- -k":    "stability-percentage=5 concurrency-range=2:3",
		"-m --async --percentile -1":   "model=--async percentile=-1",
		"--request-count= --async -":   "request-count= async=",
		"--table never --config x":     "table=never config=x",
		"--output json -ox --no-tui":   "output=json output-file=x no-tui=",
		"--output-f x":                 "error: unrecognized option '--output-f', did you mean '--output'?",
		"-a=5":                         "error: invalid option -- '='",
		"--async=5":                    "error: option '--async' doesn't allow an argument",
		"---m":                         "error: unrecognized option '---m'",
		"--tab never":                  "error: unrecognized option '--tab', did you mean '--table'?",
		"--sy --serial":                "sync= serial-sequences=",
		"--measurement-r":              "error: option '--measurement-request-count' requires an argument",
		"--string":                     "error: option '--string' is ambiguous; possibilities: '--string-length' '--string-data'",
		"--string-length 1 -ab":        "error: option requires an argument -- 'b'",
		"--verb --v":                   "error: option '--v' is ambiguous; possibilities: '--verbose-csv' '--version'",
		"--ssl-https-private-key-file": "error: option '--ssl-https-private-key-file' requires an argument",
	} {
		var got []string
		met, _, err := getopt(newOptions().flags(process.Process{}), strings.Fields(line))
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		for _, a := range met {
			got = append(got, a.Flag.Name+"="+a.Text)
		}
		require.Equal(t, want, strings.Join(got, " "), line)
	}
}
