package perf_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// entry is one entry of a fixed schedule for the null server.
func entry(number, at string) string {
	return `{"INPUT0":[` + number + strings.Repeat(",0", 15) + `],"timestamp":[` + at + `]}`
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestFixedSchedule(t *testing.T) {
	s := nullServer(t)
	dir := t.TempDir()
	// The first entry of both files is the warm-up.
	one := writeFile(t, dir, "1.json", `{"data":[`+entry("1", "0")+`,`+entry("2", "40")+`]}`)
	two := writeFile(t, dir, "2.json", `{"data":[`+entry("3", "80")+`]}`)
	export := filepath.Join(dir, "export.json")
	code, out, errs := run(t, nil, "-m", "null", "-u", s.Address, "--fixed-sch", "--input-data", one, "--input-data", two, "--warmup-request-count", "1", "--profile-export-file", export)
	require.Zero(t, code, errs)
	require.Contains(t, out, " Successfully read data for 1 stream/streams with 3 step/steps.\n")
	require.Contains(t, out, "  Sending 1 warmup request\n  Sending 2 benchmark requests\n")
	require.Contains(t, out, "Request Rate: 1, throughput: ")
	require.NotContains(t, out, "inference requests per second", "no level header")
	require.EqualValues(t, 3, s.Requests())

	text, err := os.ReadFile(export)
	require.NoError(t, err)
	require.Contains(t, string(text), `"experiment":{"mode":"request_rate","value":0.0}`)
	var doc struct {
		Experiments []struct {
			Requests []struct {
				Timestamp int64                      `json:"timestamp"`
				Inputs    map[string]json.RawMessage `json:"request_inputs"`
			} `json:"requests"`
		} `json:"experiments"`
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Len(t, doc.Experiments, 1)
	requests := doc.Experiments[0].Requests
	require.Len(t, requests, 2)
	require.GreaterOrEqual(t, requests[1].Timestamp, requests[0].Timestamp, "40 ms apart")
	for i, first := range []string{"[2,", "[3,"} {
		require.Len(t, requests[i].Inputs, 1, "the timestamp is not sent")
		require.True(t, strings.HasPrefix(string(requests[i].Inputs["INPUT0"]), first), "%s", requests[i].Inputs["INPUT0"])
	}
}

func TestFixedScheduleErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	two := writeFile(t, dir, "2.json", `{"data":[`+entry("1", "0")+`,`+entry("2", "5")+`]}`)
	empty := writeFile(t, dir, "0.json", `{"data":[]}`)
	other := writeFile(t, dir, "other.json", `{"data":[],"more":1}`)
	for _, c := range []struct{ args, want string }{
		{"--input-data " + two + " --warmup-request-count 2", "Error: The warmup request count must be less than the total number of payloads in the dataset."},
		{"--input-data " + two + " -b 2", "Error: -b must be 1 with --fixed-schedule: each request is one entry of the data."},
		{"--input-data " + empty, "Error: The dataset provided is empty. When using `--fixed-schedule`, the dataset must contain at least one payload."},
		{"--input-data " + other, "Error: Input data JSON file must contain an object with a single 'data' member that is an array. Review JSON file: '" + other + "'"},
		{"--input-data " + two + " --data-directory " + dir, "Error: '" + dir + "' is not a file."},
	} {
		code, out, errs := run(t, nil, strings.Fields("-m x --fixed-schedule "+c.args)...)
		require.Equal(t, 99, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
}

// TestOutputFilesOfAFolder compares the responses, which are zeros, with a file of the folder.
func TestOutputFilesOfAFolder(t *testing.T) {
	s := nullServer(t)
	dir := t.TempDir()
	writeFile(t, dir, "INPUT0", strings.Repeat("x", 64))
	writeFile(t, dir, "OUTPUT0", strings.Repeat("\x00", 64))
	args := []string{"-m", "null", "-u", s.Address, "--request-count", "3", "--input-data", dir}
	code, _, errs := run(t, nil, args...)
	require.Zero(t, code, errs)
	writeFile(t, dir, "OUTPUT0", strings.Repeat("\x00", 63)+"\x01")
	code, _, errs = run(t, nil, args...)
	require.Equal(t, 99, code)
	require.Contains(t, errs, "Output doesn't match expected output")
}

// TestRandomInputs follows the options of random data to the requests in the export.
func TestRandomInputs(t *testing.T) {
	s := nullServer(t)
	inputs := func(more ...string) []string {
		export := filepath.Join(t.TempDir(), "export.json")
		args := append([]string{"-m", "null", "-u", s.Address, "--request-count", "6", "--profile-export-file", export}, more...)
		code, _, errs := run(t, nil, args...)
		require.Zero(t, code, errs)
		text, err := os.ReadFile(export)
		require.NoError(t, err)
		var doc struct {
			Experiments []struct {
				Requests []struct {
					Inputs struct{ INPUT0 []int } `json:"request_inputs"`
				} `json:"requests"`
			} `json:"experiments"`
		}
		require.NoError(t, json.Unmarshal(text, &doc))
		var all []string
		for _, r := range doc.Experiments[0].Requests {
			for _, v := range r.Inputs.INPUT0 {
				require.True(t, -3 <= v && v <= 255, v)
			}
			line, err := json.Marshal(r.Inputs.INPUT0)
			require.NoError(t, err)
			all = append(all, string(line))
		}
		require.Len(t, all, 6)
		return all
	}
	same := inputs()
	require.Equal(t, same[0], same[5], "one step by default")
	require.Equal(t, same, inputs(), "the same data in every run")
	require.NotEqual(t, same, inputs("--random-seed", "5"))
	steps := inputs("--random-steps", "3")
	require.Equal(t, same[0], steps[0])
	require.Equal(t, steps[:3], steps[3:], "in turn")
	require.NotEqual(t, steps[0], steps[1])
	require.NotEqual(t, steps[1], steps[2])
	require.Contains(t, inputs("--input-range", "INPUT0:-3:-3")[0], "[-3,-3,-3,")

	code, _, errs := run(t, nil, "-m", "null", "-u", s.Address, "--input-range", "INPUT0:0:3000000000")
	require.Equal(t, 99, code)
	require.Contains(t, errs, "--input-range INPUT0:0:3000000000: the value must be <name:low:high> with low <= high, two numbers of data type INT32")
	code, _, errs = run(t, nil, "-m", "null", "-u", s.Address, "--random-see", "1")
	require.Equal(t, 99, code)
	require.Contains(t, errs, "unrecognized option '--random-see'", "own options have no abbreviations")
}
