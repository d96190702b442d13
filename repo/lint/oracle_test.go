package lint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/sharedtest"
	"triton/repo/lint"
	"triton/repo/lint/linttest"
)

// oracle is NVIDIA's server, whose repository has the models of one case at a time.
type oracle struct {
	url, dir string
	cmd      *exec.Cmd
	log      *sharedtest.LogBuffer
}

// startOracle starts NVIDIA's server. TRITON_ORACLE is the folder that it is installed in (make
// oracle). Of a flag that is given twice, the last counts.
func startOracle(t *testing.T, flags ...string) *oracle {
	t.Helper()
	root := os.Getenv("TRITON_ORACLE")
	if root == "" {
		t.Skip("TRITON_ORACLE does not name the folder of NVIDIA's server")
	}
	ports := sharedtest.Ports(t, 3)
	o := &oracle{url: fmt.Sprintf("http://127.0.0.1:%d/v2/", ports[0]), dir: t.TempDir(), log: &sharedtest.LogBuffer{}}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "tritonserver"), append([]string{
		"--model-repository=" + o.dir, "--model-control-mode=explicit", "--allow-gpu-metrics=false",
		fmt.Sprintf("--http-port=%d", ports[0]), fmt.Sprintf("--grpc-port=%d", ports[1]), fmt.Sprintf("--metrics-port=%d", ports[2]),
	}, flags...)...)
	cmd.Dir = t.TempDir()           // Python imports from the working directory
	cmd.WaitDelay = 5 * time.Second // its processes of Python may outlive it and hold the pipe
	cmd.Stdout, cmd.Stderr, o.cmd = o.log, o.log, cmd
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		code, _, err := o.call(t.Context(), http.MethodGet, "health/ready")
		return err == nil && code == http.StatusOK
	}, time.Minute, 100*time.Millisecond)
	return o
}

// callTime bounds a call: some ensembles make the server wait for itself.
const callTime = 20 * time.Second

func (o *oracle) call(ctx context.Context, method, path string) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, o.url+path, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// stop ends the server.
func (o *oracle) stop() {
	_ = o.cmd.Process.Kill() // it may have ended already, or wait for a lock for ever
	_ = o.cmd.Wait()         // the exit code says nothing of interest
}

// load loads the models of a case. It returns the reason for each that does not load, and an error
// when the server ends over it.
func (o *oracle) load(t *testing.T, files linttest.Files) (map[string]string, error) {
	t.Helper()
	require.NoError(t, files.Write(o.dir))
	outcome := map[string]string{}
	for _, name := range files.Models() {
		code, body, err := o.call(t.Context(), http.MethodPost, "repository/models/"+name+"/load")
		if err != nil {
			return nil, err
		}
		outcome[name] = ""
		if code != http.StatusOK {
			var reply struct{ Error string }
			require.NoError(t, json.Unmarshal([]byte(body), &reply))
			outcome[name] = reply.Error
		}
	}
	if err := o.unload(t.Context(), files.Models()); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(o.dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.RemoveAll(filepath.Join(o.dir, e.Name())))
	}
	return outcome, nil
}

// nvidia describes NVIDIA's server as it is installed for tests.
var nvidia = lint.Options{DefaultMaxBatch: 4, Python: interpreter(), Machine: &modelconfig.Machine{}, Backends: []string{"python"}}

// ownRules are the mistakes that this server refuses and NVIDIA's does not notice: parameters of
// features that it does not have, and models without an instance that takes requests.
var ownRules = []string{"TRN405", "TRN820"}

// unload unloads models, and waits until none is served.
func (o *oracle) unload(ctx context.Context, names []string) error {
	for _, name := range names {
		if _, _, err := o.call(ctx, http.MethodPost, "repository/models/"+name+"/unload"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, body, err := o.call(ctx, http.MethodPost, "repository/index")
		if err != nil || !strings.Contains(body, `"READY"`) && !strings.Contains(body, `"UNLOADING"`) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// newer reports whether NVIDIA's server could not decide: its release does not know a field that
// the schema has today.
func newer(reason, linted string) bool {
	return linted == "" && strings.Contains(reason, "failed to read text proto")
}

// TestGroundTruth lints repositories of Python models and ensembles with mistakes, and loads them
// with NVIDIA's server.
func TestGroundTruth(t *testing.T) {
	o := startOracle(t)
	g, err := linttest.New(t.Context(), true, true)
	require.NoError(t, err)
	var total confusion
	undecided, own, crashes := 0, 0, 0
	for i := range *casesFlag {
		c := g.Case(*seedFlag + uint64(i))
		dir := t.TempDir()
		require.NoError(t, c.Files.Write(dir))
		linted := verdict(t, dir, nvidia)
		loaded, err := o.load(t, c.Files)
		if err != nil {
			crashes++
			t.Logf("%s\n  ends or blocks NVIDIA's server: %s", c, err)
			o.stop()
			o = startOracle(t)
		}
		for name, why := range loaded {
			switch {
			case newer(why, linted[name]):
				undecided++
				continue
			case why == "" && slices.ContainsFunc(ownRules, func(rule string) bool { return strings.HasPrefix(linted[name], rule+" ") }):
				own++
				continue
			}
			if text := total.add(linted[name], why); text != "" {
				t.Errorf("%s\n  model %s: %.400s", c, name, text)
			}
		}
	}
	o.stop()
	t.Logf("NVIDIA's server: %s; too old to decide %d; mistakes for this server only %d; ended or blocked by %d cases", total, undecided, own, crashes)
}

// add counts the verdicts about a model: the first error of the linter, and the reason of the
// server. It returns how they differ, or an empty text.
func (c *confusion) add(linted, refused string) string {
	switch {
	case linted == "" && refused == "":
		c.bothGood++
	case linted != "" && refused != "":
		c.bothBad++
	case linted == "":
		c.falseGood++
		return "the linter finds no error, the server: " + strings.TrimSpace(refused)
	default:
		c.falseBad++
		return "it is served, the linter: " + linted
	}
	return ""
}

// String lists the counts.
func (c confusion) String() string {
	return fmt.Sprintf("good and loads %d, error and refused %d, good and refused %d, error and loads %d", c.bothGood, c.bothBad, c.falseGood, c.falseBad)
}
