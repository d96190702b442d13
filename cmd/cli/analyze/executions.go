package analyze

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"

	"triton/analyzer/bench"
)

// executionFlags make a server count the executions of each instance.
var executionFlags = []string{
	"--allow-metrics=true", "--allow-gpu-metrics=false", "--allow-cpu-metrics=false", "--metrics-config=instance_executions=true",
}

var executions = regexp.MustCompile(`^triton_instance_exec_count\{(.*)\} (\d+)$`)

// Executions reads the counters of the instances from the server's metrics. Several versions of
// the model have instances of their own.
func (l loader) Executions(ctx context.Context, at bench.Endpoints, model string) ([]uint64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.Metrics, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics of the server: %s", resp.Status)
	}
	return countExecutions(resp.Body, model)
}

// countExecutions returns the counters of the newest version in a page of metrics.
func countExecutions(page io.Reader, model string) ([]uint64, error) {
	counts := map[string][]uint64{}
	newest := -1
	for lines := bufio.NewScanner(page); lines.Scan(); {
		m := executions.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		labels := labelsOf(m[1])
		n, err := strconv.ParseUint(m[2], 10, 64)
		version, notNumber := strconv.Atoi(labels["version"])
		if err != nil || notNumber != nil || labels["model"] != model {
			continue
		}
		counts[labels["version"]] = append(counts[labels["version"]], n)
		newest = max(newest, version)
	}
	return counts[strconv.Itoa(newest)], nil
}

var label = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)

func labelsOf(text string) map[string]string {
	all := map[string]string{}
	for _, m := range label.FindAllStringSubmatch(text, -1) {
		all[m[1]] = m[2]
	}
	return all
}
