package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"triton/analyzer/bench"
	"triton/analyzer/memory/meter"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/client"
)

var noOverride client.Override

// session is the server of a profile and what it has loaded. There is one for each runner, which makes it
// before any trial.
type session struct {
	runner         *runner // has the settings, the notices and the checkpoint
	server         bench.Server
	control        Control  // nil if the load generator has the server in its process
	loadedVariants string   // their CheckpointName; empty: none
	loadedModels   []string // models, in the order of loading
	setup          bench.Setup
	failed         bool    // the last trial had no measurement: nobody knows what the server is left with
	retired        retired // servers that stop while the next one runs
	spent          Spent
}

// readyPoll is the time between two questions whether a model is ready.
const readyPoll = 100 * time.Millisecond

// remoteReady waits for the server of the user and warns of what distorts its metrics.
func (s *session) remoteReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.readyTimeout())
	defer cancel()
	for {
		ok, err := s.control.Ready(ctx)
		if ok && err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the server at %s is not ready: %w", ErrNoServer, s.server.Endpoints().GRPC, errors.Join(err, context.Cause(ctx)))
		case <-time.After(readyPoll):
		}
	}
	index, err := s.control.Index(ctx, true)
	if err != nil {
		return fmt.Errorf("the models of the server: %w", err)
	}
	var others []string
	for _, m := range index {
		if !s.runner.settings.ReloadModelDisable && !slices.Contains(others, m.GetName()) {
			others = append(others, m.GetName())
		}
	}
	if len(others) > 0 {
		s.runner.warn("The server has loaded other models, whose memory is in all readings: " + strings.Join(others, ", "))
	}
	return nil
}

func (s *session) readyTimeout() time.Duration {
	return time.Duration(max(1, s.runner.settings.Client.MaxRetries)) * time.Second
}

// sampleEmpty reads the metrics of a server without models.
func (s *session) sampleEmpty(ctx context.Context) error {
	if len(s.runner.state.Trials) > 0 { // of a run before
		s.runner.notice("GPU devices match checkpoint - skipping server metric acquisition")
		return nil
	}
	remote := s.runner.settings.Server.LaunchMode == settings.Remote && !s.runner.settings.DCGMDisable
	if len(s.runner.deps.Devices) == 0 && !remote {
		return nil
	}
	s.runner.notice("Profiling server only metrics...")
	w := s.watch(ctx)
	select {
	case <-time.After(s.runner.settings.IdleSampleTime):
	case <-ctx.Done():
	case <-s.runner.deps.Interrupt:
	}
	reading, errs := w.Stop()
	if remote && len(errs) > 0 {
		return fmt.Errorf("Failed to connect to Tritonserver's GPU metrics monitor. Please check that the `triton_metrics_url` value is set correctly: %s. (%w)", //nolint:staticcheck // Model Analyzer's sentence
			s.runner.settings.Server.MetricsURL, errs[0])
	}
	s.runner.state.ServerOnly = reading.GPUs
	s.learnGPUs(reading)
	s.runner.publishGPUs()
	return nil
}

// start starts a server with the options of a model, or restarts it with other options.
func (s *session) start(ctx context.Context, l bench.Launcher, of settings.Model) error {
	s.retire()
	defer s.spent.count(&s.spent.Starting)()
	setup := s.setupFor(of)
	server, err := l.Launch(ctx, setup)
	if err != nil {
		return err
	}
	s.server, s.setup, s.failed = server, setup, false
	if at := server.Endpoints(); at.HTTP != "" || at.GRPC != "" {
		if s.control, err = s.runner.deps.Connect(at); err != nil {
			return errors.Join(err, s.close())
		}
	}
	return nil
}

func (s *session) setupFor(of settings.Model) bench.Setup {
	return bench.Setup{Flags: s.serverFlags(of.ServerFlags), Env: of.ServerEnvironment, Container: of.DockerArgs}
}

// fixedFlags are set by the launcher.
var fixedFlags = []string{
	"model-repository", "model-store", "model-control-mode", "http-port", "grpc-port", "metrics-port",
	"http-address", "grpc-address", "metrics-address", "load-model",
}

func (s *session) serverFlags(flags settings.Flags) []string {
	var out []string
	for _, f := range flags {
		name := strings.ReplaceAll(f.Name, "_", "-")
		if slices.Contains(fixedFlags, name) {
			s.runner.warn(fmt.Sprintf("triton_server_flags: %s is set by the analyzer and ignored", f.Name))
			continue
		}
		for _, v := range f.Values {
			out = append(out, "--"+name+"="+v)
		}
	}
	return out
}

// close stops the server and waits for those that still stop. Models on a server of the user are
// unloaded.
func (s *session) close() error {
	defer s.spent.count(&s.spent.Stopping)()
	var errs []error
	if s.control != nil {
		if s.runner.settings.Server.LaunchMode == settings.Remote {
			errs = append(errs, s.unloadModels(nil))
		}
		errs = append(errs, s.control.Close())
	}
	if s.server != nil {
		errs = append(errs, s.server.Close())
	}
	s.control, s.server, s.loadedVariants, s.loadedModels = nil, nil, "", nil
	return errors.Join(append(errs, s.retired.wait()...)...)
}

// unloadModels unloads the models of the trial before, but for those to keep.
func (s *session) unloadModels(keep []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.readyTimeout())
	defer cancel()
	var errs []error
	for _, model := range slices.Backward(s.loadedModels) {
		if slices.Contains(keep, model) {
			continue
		}
		if err := s.control.Unload(ctx, model, false); err != nil {
			errs = append(errs, fmt.Errorf("unload model %q: %w", model, err))
		}
	}
	s.loadedModels = slices.DeleteFunc(s.loadedModels, func(model string) bool { return !slices.Contains(keep, model) })
	return errors.Join(errs...)
}

// provide makes the server have the variants of a trial. Where reusable does not allow it to load them
// into the running server, for example because memory is read, another server is started.
func (s *session) provide(ctx context.Context, name string, c trial.Config) error {
	if s.loadedVariants == name && s.server != nil && s.server.Err() == nil {
		return nil
	}
	s.loadedVariants = ""
	// All models of one trial have the same options of the server: package settings checks it.
	first, err := s.runner.modelSettings(c.Members[0].Model)
	if err != nil {
		return err
	}
	// Variants replace those on a reusable server. The server of the user is not reusable, and stays: all of
	// its models are replaced. Else another server is started.
	var keep []string
	switch {
	case s.reusable(first):
		keep = modelNames(c)
	case s.server == nil || s.runner.settings.Server.LaunchMode != settings.Remote:
		if err := s.start(ctx, s.runner.deps.Launcher, first); err != nil {
			return err
		}
	}
	if s.control != nil && !s.runner.settings.ReloadModelDisable {
		defer s.spent.count(&s.spent.Loading)()
		if err := s.unloadModels(keep); err != nil {
			return err
		}
		if err := s.loadVariants(ctx, c); err != nil {
			return err
		}
	}
	s.loadedVariants = name
	return nil
}

// loadVariants loads the variants under their models' names: the models that others call first.
func (s *session) loadVariants(ctx context.Context, c trial.Config) error {
	for _, m := range c.Members {
		for _, v := range append(slices.Clone(m.Composing), m.Variant) {
			config, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(v.Config)
			if err != nil {
				return err
			}
			if err := s.control.Load(ctx, v.Model, client.Override{Config: string(config)}); err != nil {
				return &modelLoadError{v.Name, explicitError(s.endCause(err))}
			}
			if !slices.Contains(s.loadedModels, v.Model) {
				s.loadedModels = append(s.loadedModels, v.Model)
			}
			if err := s.awaitModel(ctx, v.Model); err != nil {
				return &modelLoadError{v.Name, s.endCause(err)}
			}
		}
	}
	return nil
}

func (s *session) awaitModel(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, s.readyTimeout())
	defer cancel()
	for {
		ok, err := s.control.ModelReady(ctx, model, "")
		if ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the model was not ready within %v", s.readyTimeout()), err)
		case <-s.server.Done():
			return s.server.Err()
		case <-time.After(readyPoll):
		}
	}
}

// endCause returns why the server has ended, if that is the cause of an error.
func (s *session) endCause(err error) error {
	if s.server == nil {
		return err
	}
	// The connection breaks a moment before the end of the process is seen.
	select {
	case <-s.server.Done():
	case <-time.After(readyPoll):
	}
	if gone := s.server.Err(); gone != nil {
		return gone
	}
	return err
}

// whileRunning returns a context that ends with the server. end releases it.
func (s *session) whileRunning(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, server := make(chan struct{}), s.server
	go func() {
		defer close(done)
		select {
		case <-server.Done():
			cancel(server.Err())
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// withAddresses returns the options with the addresses of the running server.
func (s *session) withAddresses(c trial.Config, options []bench.LoadOptions) []bench.LoadOptions {
	at := s.server.Endpoints()
	out := make([]bench.LoadOptions, len(options))
	for i, o := range options {
		out[i] = o.Clone()
		if s.control == nil {
			continue
		}
		url := at.GRPC
		if strings.EqualFold(o.Get("protocol"), "http") {
			url = at.HTTP
		}
		if o.Get("url") == s.settingsURL(o) {
			out[i].Set("url", url)
		}
		if o.On("collect-metrics") && o.Get("metrics-url") == s.runner.settings.Server.MetricsURL {
			out[i].Set("metrics-url", at.Metrics)
		}
	}
	return out
}

// settingsURL returns the address of the settings for the protocol of a load.
func (s *session) settingsURL(o bench.LoadOptions) string {
	if strings.EqualFold(o.Get("protocol"), "http") {
		return s.runner.settings.Server.HTTPEndpoint
	}
	return s.runner.settings.Server.GRPCEndpoint
}

// memoryReader is a server that reads its own memory, such as a container.
type memoryReader interface {
	Memory(ctx context.Context) (bench.Reading, error)
}

// watch starts to read devices and memory.
func (s *session) watch(ctx context.Context) *bench.Watch {
	var sources []bench.Source
	at := s.server.Endpoints()
	switch {
	case len(s.runner.deps.Devices) > 0:
		// Peaks of memory are short, and reading the driver is cheap.
		sources = append(sources, bench.Source{Read: bench.ReadGPUs(s.runner.deps.GPU, s.runner.deps.Devices), Every: min(s.runner.settings.MemoryInterval, s.runner.settings.MonitoringInterval)})
	case s.runner.settings.Server.LaunchMode == settings.Remote && !s.runner.settings.DCGMDisable:
		sources = append(sources, bench.Source{Read: bench.ReadPage(at.Metrics), Every: s.runner.settings.MonitoringInterval})
	}
	if s.runner.settings.CollectCPUMetrics {
		if m, ok := s.server.(memoryReader); ok {
			sources = append(sources, bench.Source{Read: m.Memory, Every: s.runner.settings.MonitoringInterval})
		} else if s.runner.settings.Server.LaunchMode != settings.Remote {
			sources = append(sources, bench.Source{Read: bench.ReadHost(meter.FS{}, s.server.PIDs), Every: s.runner.settings.MonitoringInterval})
		}
	}
	return bench.StartWatch(ctx, sources...)
}

// learnGPUs adds devices of a server elsewhere to those that are known.
func (s *session) learnGPUs(reading bench.Reading) {
	for id, v := range reading.GPUs {
		if _, known := s.runner.state.GPUs[id]; known {
			continue
		}
		if s.runner.state.GPUs == nil {
			s.runner.state.GPUs = map[string]GPU{}
		}
		s.runner.state.GPUs[id] = GPU{Total: uint64(v[trial.GPUTotalMemory] * 1e6)}
		s.runner.publishGPUs()
	}
}
