package grpcapi_test

import (
	"encoding/xml"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/grpcapi"
	"triton/server/servertest"
)

// h2specCases is how many checks h2spec has.
const h2specCases = 145

// TestH2Spec runs h2spec against a whole server. The checks that fail are those of testdata/h2spec, where each
// has its reason.
func TestH2Spec(t *testing.T) {
	t.Parallel()
	program := os.Getenv("TRITON_H2SPEC")
	if program == "" {
		t.Skip("TRITON_H2SPEC is the path of h2spec: make h2spec gets it")
	}
	host, port, err := net.SplitHostPort(startServer(t).GRPC)
	require.NoError(t, err)
	report := filepath.Join(t.TempDir(), "report.xml")
	out, err := exec.CommandContext(t.Context(), program, "--host", host, "--port", port, "--junit-report", report).CombinedOutput()
	require.FileExists(t, report, "%v: %s", err, out) // the exit code is 1 if a check fails
	passed, failed := h2specResults(t, report)
	known := knownFailures(t, filepath.Join("testdata", "h2spec", map[grpcapi.Transport]string{
		grpcapi.TransportGRPC: "grpc-go.txt", grpcapi.TransportBuiltin: "builtin.txt",
	}[servertest.GRPCTransport()]))
	for f, text := range failed {
		if _, ok := known[f]; !ok {
			t.Errorf("%s: fails, and is no known difference: %s", f, text)
		}
	}
	for f := range known {
		if _, ok := failed[f]; !ok {
			t.Errorf("%s: is a known difference, and passes", f)
		}
	}
	t.Logf("of %d checks %d pass, %d fail", h2specCases, passed, len(failed))
}

// h2specResults returns how many checks of a report passed, and which failed, with what was seen. h2spec skips some.
func h2specResults(t *testing.T, report string) (passed int, failed map[string]string) {
	t.Helper()
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	var suites struct {
		Suites []struct {
			Package string `xml:"package,attr"`
			Cases   []struct {
				Name    string   `xml:"classname,attr"`
				Failure []string `xml:"failure"`
				Error   []string `xml:"error"`
				Skipped []string `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(text, &suites))
	failed = map[string]string{}
	n := 0
	for _, s := range suites.Suites {
		for _, c := range s.Cases {
			n++
			switch {
			case len(c.Failure)+len(c.Error) > 0:
				failed[s.Package+" "+strings.TrimSpace(c.Name)] = strings.Join(append(c.Failure, c.Error...), " ")
			case len(c.Skipped) == 0:
				passed++
			}
		}
	}
	require.Equal(t, h2specCases, n)
	return passed, failed
}

// knownFailures reads the checks that fail, each with the reason in the next line.
func knownFailures(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	known := map[string]string{}
	check := ""
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "  "):
			known[check] = strings.TrimSpace(line)
		default:
			check = line
			known[check] = ""
		}
	}
	for check, reason := range known {
		require.NotEmpty(t, reason, "%s: %s has no reason", path, check)
	}
	return known
}
