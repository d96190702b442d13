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

	"triton/pkg/scrape"
)

// gpuMetrics are the gauges to read, in the order of the fields of GPUStats.
var gpuMetrics = [...]string{"nv_gpu_utilization", "nv_gpu_power_usage", "nv_gpu_memory_used_bytes", "nv_gpu_memory_total_bytes"}

// scraper polls the server's metrics during a level.
type scraper struct {
	url      string
	interval time.Duration
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	mu       struct {
		sync.Mutex
		polls         []*GPUStats
		err           error
		notices       []string
		warnedMissing bool // a notice about missing metrics was added
		warnedSlow    bool // a notice about slow responses was added
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
		} else if took > s.interval && !s.mu.warnedSlow {
			s.mu.warnedSlow = true
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
	if len(missing) > 0 && !s.mu.warnedMissing {
		s.mu.warnedMissing = true
		for _, name := range missing {
			s.mu.notices = append(s.mu.notices, "WARNING: Unable to parse '"+name+"' metric.")
		}
	}
	return nil
}

// readGPU reads the GPU gauges of a page in the Prometheus text format. missing has the
// names of the gauges that the page lacks.
func readGPU(page io.Reader) (g *GPUStats, missing []string, err error) {
	p, err := scrape.Parse(page)
	if err != nil {
		return nil, nil, fmt.Errorf("metrics endpoint: %w", err)
	}
	g = newGPUStats()
	for i, values := range []map[string]float64{g.Utilization, g.Power, g.MemoryUsed, g.MemoryTotal} {
		p.Each(gpuMetrics[i], func(labels scrape.Labels, v float64) { values[labels["gpu_uuid"]] = v })
		if len(values) == 0 {
			missing = append(missing, gpuMetrics[i])
		}
	}
	return g, missing, nil
}

// take returns the metrics of the window: means, the largest memory in use and
// the first total.
func (s *scraper) take() (*GPUStats, error) {
	s.mu.Lock()
	polls, err, notices := s.mu.polls, s.mu.err, s.mu.notices
	s.mu.polls, s.mu.notices = nil, nil
	s.mu.Unlock()
	for _, n := range notices {
		s.notice(n)
	}
	return meanGPU(polls), err
}

func newGPUStats() *GPUStats {
	return &GPUStats{
		Utilization: map[string]float64{}, Power: map[string]float64{},
		MemoryUsed: map[string]float64{}, MemoryTotal: map[string]float64{},
	}
}

// meanGPU merges sets of gauges: means over the sets that have a value, the
// largest memory in use and the first total. A set is nil where nothing was polled.
func meanGPU(sets []*GPUStats) *GPUStats {
	all := newGPUStats()
	utilization, power := map[string]int{}, map[string]int{}
	empty := true
	for _, g := range sets {
		if g == nil {
			continue
		}
		empty = false
		addToMean(all.Utilization, utilization, g.Utilization)
		addToMean(all.Power, power, g.Power)
		for id, v := range g.MemoryUsed {
			all.MemoryUsed[id] = max(all.MemoryUsed[id], v)
		}
		for id, v := range g.MemoryTotal {
			if _, ok := all.MemoryTotal[id]; !ok {
				all.MemoryTotal[id] = v
			}
		}
	}
	if empty {
		return nil
	}
	return all
}

// addToMean adds one value of each key to running means; counts has the number of values in
// each mean.
func addToMean(means map[string]float64, counts map[string]int, values map[string]float64) {
	for id, v := range values {
		counts[id]++
		means[id] += (v - means[id]) / float64(counts[id])
	}
}
