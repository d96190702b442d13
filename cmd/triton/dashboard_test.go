package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"triton/pkg/sharedtest"
)

// quiet are the metrics that a healthy server on a machine without GPUs does not have.
// docs/metrics.md says what they need.
var quiet = map[string]string{
	"triton_instance_broken": "broken", "triton_backend_restarts_total": "broken", "nv_gpu_utilization": "GPU",
	"triton_repository_up": "Only with [remote repository paths]", "triton_state_failed_actions": "With [`--state`]",
	"triton_model_thrashing": "With [`--model-control-mode=auto`]", "triton_audit_dropped_total": "audit log",
}

var metricName = regexp.MustCompile(`\b(?:nv|triton)_[a-z0-9_]+\b`)

// TestDashboard lets a real Prometheus scrape the real server, and asks it every query of the
// dashboard and of the alerts. `make observability` gets Prometheus and sets the variable.
func TestDashboard(t *testing.T) {
	tools := os.Getenv("TRITON_PROMETHEUS")
	if tools == "" {
		t.Skip("needs Prometheus: run `make observability`")
	}
	alerts := root(t, "deploy", "observability", "alerts.yaml")
	s := serve(t, exampleModels(t, "simple"), "--onnxruntime-library", needORT(t), "--metrics-config", "histogram_latencies=true",
		"--model-repository", identityModels(t, "m"))
	p := startPrometheus(t, filepath.Join(tools, "prometheus"), s.metrics, alerts)
	traffic := func() {
		resp, err := http.Post("http://"+s.http+"/v2/models/m/infer", "application/json",
			strings.NewReader(`{"inputs":[{"name":"INPUT0","shape":[1,2],"datatype":"INT32","data":[1,2]}]}`))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	documented, err := os.ReadFile(root(t, "docs", "metrics.md"))
	require.NoError(t, err)

	for _, query := range append(dashboardQueries(t), alertQueries(t, alerts)...) {
		unavailable := false
		for _, name := range metricName.FindAllString(query, -1) {
			if needs := quiet[name]; needs != "" {
				unavailable = true
				require.Contains(t, string(documented), "`"+name+"`", "%s is no metric of ours", name)
				require.Contains(t, string(documented), needs)
			}
		}
		if unavailable {
			p.query(t, query) // has to be a query that Prometheus understands
			continue
		}
		require.Eventually(t, func() bool { traffic(); return p.query(t, query) > 0 }, time.Minute, 200*time.Millisecond, "no answer to %s", query)
	}
	p.requireRulesHealthy(t)
}

// dashboardQueries returns the queries of all panels, for all models and instances.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(root(t, "deploy", "observability", "dashboard.json"))
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	ids := map[int]bool{}
	for _, panel := range dashboard.Panels {
		require.False(t, ids[panel.ID], "two panels have the number %d", panel.ID)
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			query := strings.NewReplacer("$__rate_interval", "1m", "$model", ".*", "$instance", ".*").Replace(target.Expr)
			require.NotContains(t, query, "$", panel.Title)
			queries = append(queries, query)
		}
	}
	require.NotEmpty(t, queries)
	return queries
}

// comparison is the threshold at the end of an alert's expression, or in a part of it.
var comparison = regexp.MustCompile(` (?:>|==) [0-9.]+`)

// alertQueries returns the expressions of all alerts without their thresholds, so that they have an
// answer while nothing is wrong.
func alertQueries(t *testing.T, file string) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			query := comparison.ReplaceAllString(rule.Expr, "")
			require.NotEqual(t, rule.Expr, query, "%s has no threshold", rule.Alert)
			// A comparison of two series would drop those for which it is false.
			queries = append(queries, strings.ReplaceAll(query, "_us[5m])) > sum", "_us[5m])) < bool sum"))
		}
	}
	require.NotEmpty(t, queries)
	return queries
}

// prometheus is a child process that scrapes a server each second.
type prometheus struct{ address string }

func startPrometheus(t *testing.T, program, target, rules string) prometheus {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [ %q ]
scrape_configs: [ { job_name: triton, static_configs: [ { targets: [ %q ] } ] } ]
`, rules, target), 0o600))
	p := prometheus{fmt.Sprintf("127.0.0.1:%d", sharedtest.Ports(t, 1)[0])}
	log := &sharedtest.LogBuffer{}
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+p.address)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of Prometheus:\n%s", log)
		}
	})
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + p.address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond, "Prometheus does not start")
	return p
}

// get decodes the data of an answer.
func (p prometheus) get(t *testing.T, path string, data any) {
	t.Helper()
	resp, err := http.Get("http://" + p.address + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	require.Equal(t, "success", answer.Status, "%s: %s", path, answer.Error)
}

// query returns the number of series in the answer.
func (p prometheus) query(t *testing.T, query string) int {
	t.Helper()
	var data struct{ Result []json.RawMessage }
	p.get(t, "/api/v1/query?query="+url.QueryEscape(query), &data)
	return len(data.Result)
}

// requireRulesHealthy waits until every rule was evaluated, without an error and without an alert.
func (p prometheus) requireRulesHealthy(t *testing.T) {
	t.Helper()
	type rule struct{ Name, Health, LastError, State string }
	var data struct{ Groups []struct{ Rules []rule } }
	evaluated := func() bool {
		p.get(t, "/api/v1/rules", &data)
		for _, group := range data.Groups {
			for _, r := range group.Rules {
				if r.Health != "ok" {
					return false
				}
			}
		}
		return len(data.Groups) > 0
	}
	require.Eventually(t, evaluated, time.Minute, 100*time.Millisecond, "%+v", data)
	for _, group := range data.Groups {
		for _, r := range group.Rules {
			require.NotEqual(t, "firing", r.State, r.Name)
		}
	}
}
