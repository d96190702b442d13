package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"triton/analyzer/trial"
	"triton/pkg/scrape"
)

// pageGauges are the metrics of devices on a server's page, and the factors to their units here.
var pageGauges = map[string]struct {
	tag    trial.Metric
	factor float64
}{
	"nv_gpu_utilization":        {trial.GPUUtilization, 100},
	"nv_gpu_power_usage":        {trial.GPUPower, 1},
	"nv_gpu_memory_used_bytes":  {trial.GPUUsedMemory, 1 / megabyte},
	"nv_gpu_memory_total_bytes": {trial.GPUTotalMemory, 1 / megabyte},
}

const (
	pageTimeout = 5 * time.Second
	maxPage     = 64 << 20
)

// ReadPage returns a reader of the devices on the metrics page of a server.
func ReadPage(url string) func(context.Context) (Reading, error) {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	return func(ctx context.Context) (Reading, error) {
		ctx, cancel := context.WithTimeout(ctx, pageTimeout)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return Reading{}, fmt.Errorf("metrics URL: %w", err)
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			return Reading{}, fmt.Errorf("read the server's metrics: %w", err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return Reading{}, fmt.Errorf("read the server's metrics: GET %s: %s", url, resp.Status)
		}
		return parsePage(io.LimitReader(resp.Body, maxPage))
	}
}

func parsePage(page io.Reader) (Reading, error) {
	p, err := scrape.Parse(page)
	if err != nil {
		return Reading{}, fmt.Errorf("the server's metrics: %w", err)
	}
	r := Reading{GPUs: map[string]trial.Values{}}
	for name, g := range pageGauges {
		p.Each(name, func(labels scrape.Labels, v float64) {
			id := labels["gpu_uuid"]
			if id == "" {
				return
			}
			if r.GPUs[id] == nil {
				r.GPUs[id] = trial.Values{}
			}
			r.GPUs[id][g.tag] = v * g.factor
		})
	}
	return r, nil
}
