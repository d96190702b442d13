package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"triton/server/access"
	"triton/server/access/policy"
	"triton/server/backend"
	"triton/server/backend/python"
	"triton/server/cache"
	"triton/server/capi"
	"triton/server/http1"
	"triton/server/httpapi"
	"triton/server/stats"
)

// metricsFrontend serves the metrics endpoint.
type metricsFrontend struct {
	server       *http1.Server
	lis          net.Listener
	registry     *prometheus.Registry
	runtime      *prometheus.Registry // nil without a port
	modelMetrics *backend.Metrics
	machine      *machine
	order        []string
	guard        *access.Guard
	profiles     bool // serves profiles of the process
}

func (s *Server) newMetrics(l net.Listener, config *tls.Config) (portServer, error) {
	s.addrs.Metrics = l.Addr().String()
	f := s.collectMetrics()
	f.lis, f.runtime = withTLS(l, config), newRuntimeMetrics()
	f.profiles = s.opts.Guard.Checks() || isLocal(l.Addr())
	if f.machine.cpu {
		s.opts.Log.Info("Collecting CPU metrics")
	}
	// Idle scrapers do not delay the shutdown: a lost scrape does no harm.
	f.server = http1.NewServer(f, http1.Options{Log: s.opts.Log, IdleGrace: time.Nanosecond, Limit: s.connections, Reserved: true})
	s.metrics = f
	return f, nil
}

// collectMetrics registers all metrics of the server.
func (s *Server) collectMetrics() *metricsFrontend {
	o := s.opts.Metrics
	f := &metricsFrontend{
		guard: s.guard, registry: s.registry, modelMetrics: s.modelMetrics, order: familyOrder(),
		machine: &machine{root: rootFS(), pool: s.pool, cpu: o.CPU, interval: o.Interval, log: s.opts.Log},
	}
	if o.GPU {
		f.machine.gpus = newGPUMeters(s.gpus, s.opts.Log)
	}
	if local, ok := s.cache.(*cache.Local); ok {
		f.registry.MustRegister(cacheMetrics{local})
	}
	f.registry.MustRegister(stats.NewCollector(s.models.Served), f.machine, s.traffic.Metrics(), s.phases, demandMetrics{s.models})
	f.registry.MustRegister(buildInfo(s.opts.Version, s.opts.Commit))
	f.registry.MustRegister(memoryCounters(s.pool)...)
	f.registry.MustRegister(repositoryMetrics{s.remote}, requestMemoryMetrics{s.requestMemory.budget}, connectionMetrics{s})
	if b, ok := s.opts.Backends[python.Name].(*python.Backend); ok {
		f.registry.MustRegister(pythonMemory{b})
	}
	if s.guard != nil {
		f.registry.MustRegister(accessMetrics{s.guard})
	}
	if s.opts.State.From != "" {
		f.registry.MustRegister(fleetMetrics{s.fleet})
	}
	return f
}

// statsOptions returns which metrics of models are collected. Without the metrics endpoint no
// metric settings apply. Without GPU metrics there are no series by GPU.
func (s *Server) statsOptions() stats.Options {
	m := &s.opts.Metrics
	o := stats.Options{Log: s.opts.Log}
	if m.Allow || m.Embedded {
		o.Settings = m.Settings
	}
	if (m.Allow || m.Embedded) && m.GPU {
		o.GPUs = map[int]string{}
		for _, d := range s.gpus.devices() {
			o.GPUs[d.Index] = d.UUID
		}
	}
	return o
}

func (f *metricsFrontend) name() string { return "Metrics" }

func (f *metricsFrontend) serve() error {
	ctx, cancel := context.WithCancel(context.Background())
	var polling sync.WaitGroup
	polling.Go(func() { f.machine.poll(ctx) })
	err := ignoreClosed(f.server.Serve(f.lis))
	cancel()
	polling.Wait()
	return err
}

// drain does nothing: the endpoint serves until it is closed.
func (f *metricsFrontend) drain(context.Context) {}

func (f *metricsFrontend) close(ctx context.Context) { shutdown(ctx, f.server, f.lis) }

func (f *metricsFrontend) waiting() (int64, string) { return 0, "" }

// Serve answers /metrics and profiles. Any other path has an empty page, as in Triton, which does
// not decode paths, negotiate or compress.
func (f *metricsFrontend) Serve(x *http1.Exchange) {
	action := policy.ActionMetrics
	if isProfile(x.Path) {
		action = policy.ActionProfile
	}
	_, entry, ok := httpapi.Admit(f.guard, x, &access.Call{Action: action})
	if !ok {
		x.Send()
		return
	}
	defer func() { entry.End(strconv.Itoa(x.Status), "") }()
	x.ContentType = "text/plain; charset=utf-8"
	switch {
	case x.Method != http.MethodGet:
		x.Status, x.ContentType = http.StatusMethodNotAllowed, http1.TextPlain
		x.Text = append(x.Text[:0], `{"error":"Method Not Allowed"}`...)
	case isProfile(x.Path):
		f.profile(x)
	case strings.TrimSuffix(x.Path, "/") == "/metrics":
		x.Text = f.page()
	}
	x.Send()
}

// page returns all metrics: those of the server and of cache libraries in Triton's order, those of models, and those of
// the process. A metric that cannot be written does not hide the others.
func (f *metricsFrontend) page() []byte {
	own := f.gather(f.registry)
	var runtime []*dto.MetricFamily
	if f.runtime != nil {
		runtime = f.gather(f.runtime)
	}
	known := slices.Concat(own, runtime)
	libraries := mergeFamilies(known, capi.Metrics().Gather())
	models := mergeFamilies(slices.Concat(known, libraries), f.modelMetrics.Gather())
	ordered := slices.Concat(own, libraries)
	slices.SortStableFunc(ordered, byOrder(f.order))
	return appendFamilies(nil, slices.Concat(ordered, models, runtime))
}

func (f *metricsFrontend) gather(from *prometheus.Registry) []*dto.MetricFamily {
	families, err := from.Gather()
	if err != nil {
		f.machine.log.Error("some metrics cannot be written", "error", err)
	}
	return families
}
