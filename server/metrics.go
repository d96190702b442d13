package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triton/server/stats"
)

// headTimeout is how long a scraper may take to ask.
const headTimeout = 30 * time.Second

// metricsFront serves the metrics endpoint.
type metricsFront struct {
	server   *http.Server
	lis      net.Listener
	registry *prometheus.Registry
	machine  *machine
	order    []string
}

func (s *Server) newMetrics(l net.Listener, config *tls.Config) front {
	s.addrs.Metrics = l.Addr().String()
	o := s.opts.Metrics
	f := &metricsFront{
		lis: encrypted(l, config), registry: s.registry, order: stats.FamilyNames(),
		machine: &machine{root: rootFS(), gpus: s.gpus, cpu: o.CPU, gpu: o.GPU && s.gpus.view != nil, every: o.Interval},
	}
	for _, p := range polledOrder {
		f.order = append(f.order, p.name)
	}
	f.registry.MustRegister(stats.NewCollector(s.models.Served), f.machine)
	if f.machine.gpu {
		s.opts.Log.Info("Collecting metrics for GPUs", "count", len(s.gpus.devices()))
	}
	if f.machine.cpu {
		s.opts.Log.Info("Collecting CPU metrics")
	}
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: headTimeout}
	return f
}

func (f *metricsFront) name() string { return "Metrics" }

func (f *metricsFront) serve() error {
	ctx, cancel := context.WithCancel(context.Background())
	var polling sync.WaitGroup
	polling.Go(func() { f.machine.poll(ctx) })
	err := served(f.server.Serve(f.lis))
	cancel()
	polling.Wait()
	return err
}

func (f *metricsFront) drain(ctx context.Context) { shutdown(ctx, f.server, f.lis) }

func (f *metricsFront) waiting() (int64, string) { return 0, "" }

// ServeHTTP answers /metrics. Any other path has an empty page, as in Triton.
func (f *metricsFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if r.Method != http.MethodGet {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusMethodNotAllowed)
		_, _ = w.Write([]byte(`{"error":"Method Not Allowed"}`))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if path != "/metrics" {
		return
	}
	families, err := f.registry.Gather()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	slices.SortStableFunc(families, byOrder(f.order))
	_, _ = w.Write(appendFamilies(nil, families))
}
