package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/scheduler/dynamic"
	"triton/server/stats"
)

const reasonUnloaded = "unloaded"

// candidate is a model directory whose configuration could be read.
type candidate struct {
	*found
	config   *modelconfig.Config
	versions []numbered
	model    *model
	loading  atomic.Int32 // versions not done yet
}

// Start scans the paths and loads the models of the start. The error is ErrLoad when some
// model failed while the others serve; any other error means that nothing was
// loaded. The repository serves afterwards in both cases that are not the last.
func (r *Repository) Start(ctx context.Context) error {
	dirs, err := scan(r.opts.Paths)
	if err != nil {
		r.phase.Store(failed)
		return err
	}
	next, candidates, readable := r.survey(dirs)
	var complete atomic.Bool
	complete.Store(readable)
	g := errgroup.Group{}
	g.SetLimit(max(r.opts.LoadThreads, 1))
	for _, c := range candidates {
		for i, n := range c.versions {
			g.Go(func() error {
				c.model.versions[i] = r.loadVersion(ctx, c, n)
				if c.loading.Add(-1) == 0 && !r.settle(c) {
					complete.Store(false)
				}
				return nil
			})
		}
	}
	_ = g.Wait()
	r.view.Store(next)
	r.phase.Store(ready)
	if !complete.Load() {
		return ErrLoad
	}
	return nil
}

// survey reads all configurations and lays out the view that the versions will
// be put into. False when some directory cannot be a model.
func (r *Repository) survey(dirs []*found) (*view, []*candidate, bool) {
	next, complete := &view{models: map[string]*model{}}, true
	var candidates []*candidate
	for _, f := range dirs {
		entry := listed{name: f.name}
		c, err := r.examine(f)
		switch {
		case f.twice:
			entry.reason = "model appears in two or more repositories"
			complete = false
		case err != nil:
			complete = false
			r.opts.Log.Error(fmt.Sprintf("Poll failed for model directory '%s': %s", f.name, err), details(err)...)
		default:
			entry.model = c.model
			next.models[f.name] = c.model
			next.names = append(next.names, f.name)
			candidates = append(candidates, c)
			complete = complete && len(c.versions) > 0
		}
		next.index = append(next.index, entry)
	}
	return next, candidates, complete
}

func (r *Repository) examine(f *found) (*candidate, error) {
	if f.twice {
		r.opts.Log.Error(fmt.Sprintf("failed to poll model '%s': not unique across all model repositories", f.name))
		return nil, nil
	}
	config, err := r.read(f)
	if err != nil {
		return nil, err
	}
	c := &candidate{found: f, config: config, model: &model{name: f.name}}
	if c.versions, err = r.versions(f, config); err != nil {
		r.opts.Log.Error(fmt.Sprintf("failed to load model '%s': %s", f.name, err))
	}
	c.model.versions = make([]*version, len(c.versions))
	c.loading.Store(int32(len(c.versions)))
	return c, nil
}

// settle ends the loading of a model: it serves all its versions or none. False
// when it does not serve though it should.
func (r *Repository) settle(c *candidate) bool {
	bad := func(v *version) bool { return v.state != stateReady }
	if !slices.ContainsFunc(c.model.versions, bad) {
		c.model.choose()
		r.opts.Log.Info(fmt.Sprintf("successfully loaded '%s'", c.name))
		return true
	}
	tolerable := true
	for _, v := range c.model.versions {
		if v.state == stateReady {
			v.state, v.reason = stateUnavailable, reasonUnloaded
			if err := r.closeVersion(context.Background(), v); err != nil {
				r.opts.Log.Error("closing a model version that is not to serve", "error", err)
			}
			continue
		}
		tolerable = tolerable && errors.Is(v.err, backend.ErrNoEngine)
	}
	r.opts.Log.Info(fmt.Sprintf("failed to load '%s'", c.name))
	return tolerable
}

// loadVersion loads one version and never fails: the version says in its state
// what became of it. What a backend panics with is the version's own problem.
func (r *Repository) loadVersion(ctx context.Context, c *candidate, n numbered) (v *version) {
	v = &version{
		model: c.name, number: n.number, text: strconv.FormatInt(n.number, 10),
		state: stateLoading, drained: make(chan struct{}),
	}
	log := r.opts.Log
	log.Info(fmt.Sprintf("loading: %s:%d", c.name, n.number))
	begin := time.Now()
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				log.Error("panic while loading a model", "model", c.name, "version", n.number, "panic", p, "stack", string(debug.Stack()))
				err = status.New(status.Internal, "the backend of model '%s' panicked while loading: %v", c.name, p)
			}
		}()
		return r.fill(ctx, v, c, n)
	}()
	v.seconds = time.Since(begin).Seconds()
	if err != nil {
		v.state, v.err, v.reason = stateUnavailable, err, status.From(err).Text()
		log.Error(fmt.Sprintf("failed to load '%s' version %d: %s", c.name, n.number, v.reason), details(err)...)
		return v
	}
	v.state = stateReady
	v.refs.Store(1)
	return v
}

// fill completes the configuration with the backend's help, checks it, and
// makes the engine.
func (r *Repository) fill(ctx context.Context, v *version, c *candidate, n numbered) error {
	config := *c.config // keeps the positions of fields
	config.ModelConfig = proto.Clone(c.config.ModelConfig).(*inferencepb.ModelConfig)
	if err := unsupported(config.ModelConfig); err != nil {
		return err
	}
	if config.GetBackend() == "" {
		return status.New(status.InvalidArg, "must specify 'backend' for '%s'", c.name)
	}
	engine := r.opts.Backends[config.GetBackend()]
	if engine == nil {
		return status.New(status.InvalidArg, "unable to find backend library for backend '%s', try specifying runtime on the model configuration.", config.GetBackend())
	}
	spec := r.spec(&config, n)
	if err := r.complete(ctx, engine, &config, spec); err != nil {
		return err
	}
	labels, err := readLabels(c.dir, config.ModelConfig)
	if err != nil {
		return err
	}
	v.config, v.labels = config.ModelConfig, labels
	v.check = newChecker(v.config)
	v.metadata = describe(v.config, v.text)
	v.stats = stats.New(v.config, v.text, r.opts.Stats)
	return r.start(ctx, v, engine, spec)
}

// gpuUser is a backend that may be able to use GPUs.
type gpuUser interface{ HasGPU() bool }

// complete lets the backend fill in what the configuration leaves out, and
// checks the whole.
func (r *Repository) complete(ctx context.Context, engine backend.Backend, c *modelconfig.Config, spec backend.Spec) error {
	machine := r.opts.Machine
	if g, ok := engine.(gpuUser); !ok || !g.HasGPU() {
		onCPU(c, machine)
	}
	c.NormalizeInstanceGroups(machine)
	if err := first(c, c.ValidateInstanceGroups(machine)); err != nil {
		return err
	}
	if a, ok := engine.(backend.AutoCompleter); ok && r.opts.AutoComplete {
		if err := a.AutoComplete(ctx, spec); err != nil {
			return err
		}
		c.Normalize()
	}
	if err := first(c, c.Validate()); err != nil {
		return err
	}
	return first(c, c.ValidateIO())
}

// onCPU puts the instances whose kind is open on the CPU. Those for a GPU stay:
// the backend knows best what it lacks for them.
func onCPU(c *modelconfig.Config, m modelconfig.Machine) {
	if len(c.GetInstanceGroup()) == 0 {
		m.GPUs = nil
		c.NormalizeInstanceGroups(m)
	}
	for _, g := range c.GetInstanceGroup() {
		if g.GetKind() == inferencepb.ModelInstanceGroup_KIND_AUTO && len(g.GetGpus()) == 0 {
			g.Kind = inferencepb.ModelInstanceGroup_KIND_CPU
		}
	}
}

// start loads the model and makes its instances.
func (r *Repository) start(ctx context.Context, v *version, engine backend.Backend, spec backend.Spec) error {
	placements, err := instance.Placements(v.config, len(r.opts.Machine.GPUs))
	if err != nil {
		return err
	}
	for _, path := range scheduler.Ignored(v.config) {
		r.opts.Log.Warn("setting is accepted but has no effect yet", "model", v.model, "setting", path)
	}
	m, err := engine.Load(ctx, spec)
	if err != nil {
		return err
	}
	policy := scheduler.Policy(scheduler.Direct{})
	if v.config.GetDynamicBatching() != nil && v.config.GetMaxBatchSize() > 0 {
		policy = dynamic.New(v.config)
	}
	v.group = instance.New(instance.Options{
		Name: v.model, Version: v.text, Config: v.config, Model: m,
		Placements: placements, Policy: policy, Stats: v.stats, Log: spec.Log,
		Alarm: scheduler.NewPrecise,
	})
	return v.group.Start(ctx)
}

func (r *Repository) spec(c *modelconfig.Config, n numbered) backend.Spec {
	settings := maps.Clone(r.opts.Settings[""])
	if settings == nil {
		settings = map[string]string{}
	}
	maps.Copy(settings, r.opts.Settings[c.GetBackend()])
	return backend.Spec{
		Name: c.GetName(), Version: n.number, Config: c.ModelConfig, Dir: n.dir,
		Settings: settings, Pool: r.opts.Pool, CPUs: r.opts.CPUs, Log: r.opts.Log,
		File: c.GetDefaultModelFilename(),
	}
}

// unsupported says what a configuration asks for that this server does not
// have yet.
func unsupported(c *inferencepb.ModelConfig) error {
	what := ""
	switch {
	case c.GetEnsembleScheduling() != nil || c.GetPlatform() == "ensemble":
		what = "ensemble_scheduling"
	case c.GetSequenceBatching() != nil:
		what = "sequence_batching"
	case len(c.GetBatchInput()) > 0:
		what = "batch_input"
	case len(c.GetBatchOutput()) > 0:
		what = "batch_output"
	case slices.ContainsFunc(c.GetInput(), (*inferencepb.ModelInput).GetAllowRaggedBatch):
		what = "allow_ragged_batch"
	case slices.ContainsFunc(c.GetInstanceGroup(), (*inferencepb.ModelInstanceGroup).GetPassive):
		what = "instance_group.passive"
	default:
		return nil
	}
	return status.New(status.Unsupported, "model '%s' uses %s, which this server does not support yet", c.GetName(), what)
}
