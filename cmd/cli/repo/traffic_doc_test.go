package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/cmd/cli/process"
	"triton/pkg/trafficrules"
	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var trafficDocument = filepath.Join("..", "..", "..", "docs", "traffic.md")

// startTraffic starts a server with the models of the document.
func startTraffic(t *testing.T) *servertest.Server {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"chat", "chat-v2"} {
		for _, version := range []string{"1", "2"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, name, version), 0o755))
		}
		config := servertest.Identity("FP32", "2", 8) + "version_policy { all { } }\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644))
	}
	return servertest.Start(t, servertest.Repository(dir), servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"*"}
	}))
}

// triton runs `triton repo traffic` and returns its output and exit code.
func triton(t *testing.T, input string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	p := process.Process{Stdin: strings.NewReader(input), Stdout: &out, Stderr: &errs}
	cmd := newTrafficCommand(p)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	code = p.ExitCode(cmd.ExecuteContext(context.Background()))
	return out.String(), errs.String(), code
}

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	curl       = regexp.MustCompile(`(?s)^curl (?:-X (\w+) )?localhost:8000(\S+)(?: -d '(.*)')?\s*$`)
	piped      = regexp.MustCompile(`^(?:echo '(.*)' \| )?triton repo traffic (.*)$`)
)

// TestTrafficDocument runs the examples of docs/traffic.md in their order.
func TestTrafficDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(trafficDocument)
	require.NoError(t, err)
	s := startTraffic(t)
	ran := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		if m := curl.FindStringSubmatch(block[1]); m != nil {
			method := m[1]
			if method == "" && m[3] != "" {
				method = http.MethodPost
			}
			req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.HTTP+m[2], strings.NewReader(m[3]))
			require.NoError(t, err)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 200, resp.StatusCode, "%s: %s", block[1], body)
			ran++
			continue
		}
		for line := range strings.Lines(block[1]) {
			m := piped.FindStringSubmatch(strings.TrimSpace(line))
			require.NotNil(t, m, "the test does not know this command: %s", line)
			_, stderr, code := triton(t, m[1], append(strings.Fields(m[2]), "-u", s.HTTP)...)
			require.Zero(t, code, "%s: %s", line, stderr)
			ran++
		}
	}
	http.DefaultClient.CloseIdleConnections()
	require.GreaterOrEqual(t, ran, 16)
}

// TestDocumentedFields: the document names every field of the rules.
func TestDocumentedFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(trafficDocument)
	require.NoError(t, err)
	zero, one := 0.0, 1
	all, err := json.Marshal(&trafficrules.Rules{
		Canary: &trafficrules.Canary{Steps: []float64{1}, StepSeconds: 1, MinSamples: 1, Significance: 1, MaxErrorIncrease: &zero, MaxP99Ratio: 1},
		Shadow: &trafficrules.Shadow{MaxPending: 1, MaxBytes: 1, TimeoutSeconds: 1, Tolerances: map[string]trafficrules.Tolerance{}, NaNDiffers: true, Diffs: &one, HideContents: true},
	})
	require.NoError(t, err)
	for _, f := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(all), -1) {
		require.Contains(t, string(text), "`"+f[1]+"`", f[1])
	}
}

// TestTrafficCommands: what the commands print, and how they fail.
func TestTrafficCommands(t *testing.T) {
	t.Parallel()
	s := startTraffic(t)
	at := []string{"-m", "chat", "-u", s.HTTP}
	run := func(command string, more ...string) string {
		t.Helper()
		stdout, stderr, code := triton(t, "", append(append([]string{command}, at...), more...)...)
		require.Zero(t, code, stderr)
		return stdout
	}
	stdout, _, code := triton(t, "", "get", "-u", s.HTTP)
	require.Zero(t, code)
	require.Equal(t, "No model has traffic rules.\n", stdout)
	_, stderr, code := triton(t, "", append([]string{"get"}, at...)...)
	require.Equal(t, process.Failure, code)
	require.Contains(t, stderr, "'chat' has no traffic rules")

	require.Contains(t, run("canary", "--version", "2", "--stable", "1", "--steps", "10,100"), "Canary of chat: progressing, step 1 of 2, 10 % of the requests")
	require.Contains(t, run("shadow", "--version", "2"), "Shadow of chat: 0 of 0 elements differ")
	require.Contains(t, run("get"), `"stable":{"version":"1"},"steps":[10,100]},"shadow":{"version":"2","percent":10}}`, "shadow keeps the canary")
	require.Contains(t, run("rollback"), "rolled_back")
	require.Contains(t, run("promote"), "100 % of the requests")
	require.Contains(t, run("diffs"), "chat has no sampled differences.")
	var st trafficrules.Status
	require.NoError(t, json.Unmarshal([]byte(run("get", "--output", "json")), &st))
	require.Equal(t, "live", st.Source)
	require.Empty(t, run("delete"))

	file := filepath.Join(t.TempDir(), "rules.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"default":{"version":1}}`), 0o644))
	for _, c := range []struct {
		args, stderr string
		code         int
	}{
		{"set -m chat --file " + file, "rules.json: default.version: expected a string, got a JSON number", process.Failure},
		{"set -m chat", "name the file with --file FILE", process.Usage},
		{"set", "name the model with -m MODEL", process.Usage},
		{"get more", `unexpected argument "more"`, process.Usage},
		{"promote -m chat", "'chat' has no canary", process.Failure},
		{"get --header x", `--header number 1 is not NAME:VALUE`, process.Usage},
		{"get --output xml", "xml", process.Usage},
		{"get --tls-ca-file absent.pem", "absent.pem", process.Failure},
	} {
		_, stderr, code := triton(t, "", append(strings.Fields(c.args), "-u", s.HTTP)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, stderr)
		require.Contains(t, stderr, c.stderr, c.args)
	}
}
