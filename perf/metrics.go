package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"triton/pkg/measure"
)

const (
	gpuUtilization = "nv_gpu_utilization"
	gpuPower       = "nv_gpu_power_usage"
	gpuMemoryUsed  = "nv_gpu_memory_used_bytes"
	gpuMemoryTotal = "nv_gpu_memory_total_bytes"
)

var gpuMetrics = []string{gpuUtilization, gpuPower, gpuMemoryUsed, gpuMemoryTotal}

// scraper polls the server's metrics during a level.
type scraper struct {
	url      string
	interval time.Duration
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	mu       struct {
		sync.Mutex
		polls   []*GPUStats
		err     error
		notices []string
		warned  bool // of missing metrics
		late    bool // of slow answers
	}
	notice func(string)
}

func startScraper(ctx context.Context, c Config, notice func(string)) *scraper {
	s := &scraper{url: c.MetricsURL, interval: c.MetricsInterval, notice: notice}
	ctx, s.cancel = context.WithCancel(ctx)
	s.wg.Go(func() { s.run(ctx) })
	return s
}

func (s *scraper) stop() {
	s.cancel()
	s.wg.Wait()
}

func (s *scraper) run(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	for {
		begin := time.Now()
		err := s.poll(ctx, client)
		took := time.Since(begin)
		s.mu.Lock()
		if err != nil {
			s.mu.err = err
		} else if took > s.interval && !s.mu.late {
			s.mu.late = true
			s.mu.notices = append(s.mu.notices, fmt.Sprintf("WARNING: Triton metrics endpoint latency (%dms) is larger than the querying interval (%dms). Please try a larger querying interval via `--metrics-interval`.", took.Milliseconds(), s.interval.Milliseconds()))
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
		select {
		case <-time.After(max(0, s.interval-took)):
		case <-ctx.Done():
			return
		}
	}
}

func (s *scraper) poll(ctx context.Context, client *http.Client) error {
	url := s.url
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("metrics URL %q: %w", s.url, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return errors.New("Unable to connect to Metrics endpoint " + s.url)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New("Metrics endpoint curling did not succeed.")
	}
	g, missing, err := readGPU(resp.Body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.polls = append(s.mu.polls, g)
	if len(missing) > 0 && !s.mu.warned {
		s.mu.warned = true
		for _, name := range missing {
			s.mu.notices = append(s.mu.notices, "WARNING: Unable to parse '"+name+"' metric.")
		}
	}
	return nil
}

// readGPU picks the GPU gauges out of an exposition.
func readGPU(r io.Reader) (g *GPUStats, missing []string, err error) {
	g = newGPUStats()
	byName := map[string]map[string]float64{
		gpuUtilization: g.Utilization, gpuPower: g.Power,
		gpuMemoryUsed: g.MemoryUsed, gpuMemoryTotal: g.MemoryTotal,
	}
	err = measure.ReadMetrics(r, func(name string) bool { return byName[name] != nil }, func(m measure.Metric) {
		byName[m.Name][m.Labels["gpu_uuid"]] = m.Value
	})
	for _, name := range gpuMetrics {
		if len(byName[name]) == 0 {
			missing = append(missing, name)
		}
	}
	return g, missing, err
}

// take is the window's metrics: means, the largest memory, the first total.
func (s *scraper) take() (*GPUStats, error) {
	s.mu.Lock()
	polls, err, notices := s.mu.polls, s.mu.err, s.mu.notices
	s.mu.polls, s.mu.notices = nil, nil
	s.mu.Unlock()
	for _, n := range notices {
		s.notice(n)
	}
	var all *GPUStats
	for _, p := range polls {
		all = addGPU(all, p, len(polls))
	}
	return all, err
}

func newGPUStats() *GPUStats {
	return &GPUStats{
		Utilization: map[string]float64{}, Power: map[string]float64{},
		MemoryUsed: map[string]float64{}, MemoryTotal: map[string]float64{},
	}
}

// addGPU merges one of n sets of gauges into sum.
func addGPU(sum, g *GPUStats, n int) *GPUStats {
	if g == nil {
		return sum
	}
	if sum == nil {
		sum = newGPUStats()
	}
	for id, v := range g.Utilization {
		sum.Utilization[id] += v / float64(n)
	}
	for id, v := range g.Power {
		sum.Power[id] += v / float64(n)
	}
	for id, v := range g.MemoryUsed {
		sum.MemoryUsed[id] = max(sum.MemoryUsed[id], v)
	}
	for id, v := range g.MemoryTotal {
		if _, ok := sum.MemoryTotal[id]; !ok {
			sum.MemoryTotal[id] = v
		}
	}
	return sum
}
