package profile

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// mostRetired is how many servers may still stop while the next one is measured. A server that has
// no load and unloads its models mostly waits: NVIDIA's does so for 5 seconds.
const mostRetired = 2

// retired are servers that stop in the background.
type retired struct{ stopping []chan error }

// add stops a server. It waits if too many do so already.
func (r *retired) add(stop func() error) (errs []error) {
	for len(r.stopping) >= mostRetired {
		errs = append(errs, <-r.stopping[0])
		r.stopping = r.stopping[1:]
	}
	done := make(chan error, 1)
	go func() { done <- stop() }()
	r.stopping = append(r.stopping, done)
	return errs
}

// wait waits until all servers have stopped.
func (r *retired) wait() (errs []error) {
	for _, done := range r.stopping {
		errs = append(errs, <-done)
	}
	r.stopping = nil
	return errs
}

// overlapping is a launcher whose servers have different addresses, so that one may stop while the
// next one starts.
type overlapping interface{ Overlapping() bool }

// retire stops the server: in the background, unless the next one needs its addresses or devices.
func (s *session) retire() {
	if s.server == nil {
		return
	}
	var errs []error
	l, ok := s.runner.deps.Launcher.(overlapping)
	if ok && l.Overlapping() && len(s.runner.deps.Devices) == 0 {
		if s.control != nil {
			errs = append(errs, s.control.Close())
		}
		errs = append(errs, s.retired.add(s.server.Close)...)
		s.control, s.server, s.loadedVariants, s.loadedModels = nil, nil, "", nil
	} else {
		errs = append(errs, s.close())
	}
	for _, err := range errs {
		s.warnStop(err)
	}
}

// warnStop says that a server did not stop as it should, which changes no measurement.
func (s *session) warnStop(err error) {
	if err != nil {
		s.runner.warn("stop the server: " + err.Error())
	}
}

// reusable reports whether other variants can be loaded on the running server in place of those that
// it has: it is ours, runs with the same options, and nobody reads its memory.
func (s *session) reusable(of settings.Model) bool {
	switch {
	case s.server == nil, s.failed, s.server.Err() != nil, s.control == nil, s.runner.settings.ReloadModelDisable:
		return false
	case s.runner.settings.Server.LaunchMode != settings.Local && s.runner.settings.Server.LaunchMode != settings.Docker:
		return false
	case len(s.runner.deps.Devices) > 0 || s.runner.settings.CollectCPUMetrics:
		return false
	}
	return sameSetup(s.setup, s.setupFor(of))
}

func sameSetup(a, b bench.Setup) bool {
	return slices.Equal(a.Flags, b.Flags) && len(a.Env) == len(b.Env) && len(a.Container) == len(b.Container) &&
		(len(a.Env) == 0 || reflect.DeepEqual(a.Env, b.Env)) && (len(a.Container) == 0 || reflect.DeepEqual(a.Container, b.Container))
}

// modelNames returns the models that a trial loads.
func modelNames(c trial.Config) []string {
	var names []string
	for _, m := range c.Members {
		for _, v := range m.Composing {
			names = append(names, v.Model)
		}
		names = append(names, m.Model)
	}
	return names
}

// Spent is where the time of a search went.
type Spent struct {
	Starting, Stopping time.Duration // of servers
	Loading            time.Duration // of models
	Measuring          time.Duration // under load, warm-up included
	Total              time.Duration
}

// count adds the time until the returned function is called.
func (s *Spent) count(to *time.Duration) (stop func()) {
	begin := time.Now()
	return func() { *to += time.Since(begin) }
}

// since returns what was added after an earlier state.
func (s Spent) since(before Spent) Spent {
	return Spent{
		Starting: s.Starting - before.Starting, Stopping: s.Stopping - before.Stopping,
		Loading: s.Loading - before.Loading, Measuring: s.Measuring - before.Measuring,
	}
}

// String says where the time went, for the log.
func (s Spent) String() string {
	round := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	rest := s.Total - s.Starting - s.Stopping - s.Loading - s.Measuring
	return fmt.Sprintf("%s: measuring %s, loading models %s, starting servers %s, waiting for servers to stop %s, the rest %s",
		round(s.Total), round(s.Measuring), round(s.Loading), round(s.Starting), round(s.Stopping), round(rest))
}
