package repository

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/instance"
	"triton/server/stats"
)

// loadVersion loads one version. What a backend panics with is the version's
// own problem.
func (r *Repository) loadVersion(ctx context.Context, c *candidate, j *job) (_ *version, err error) {
	v := &version{
		model: c.id.name, label: c.id.String(), number: j.number, text: strconv.FormatInt(j.number, 10),
		dir: j.dir, source: c.config.ModelConfig, stamp: c.stamp, files: c.files, pool: r.opts.Pool, log: r.opts.Log, drained: make(chan struct{}),
	}
	log, begin := r.opts.Log, time.Now()
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic while loading a model", "model", v.label, "version", v.number, "panic", p, "stack", string(debug.Stack()))
			err = status.New(status.Internal, "the backend of model '%s' panicked while loading: %v", v.label, p)
		}
		if err != nil {
			log.Error(fmt.Sprintf("failed to load '%s' version %d: %s", v.label, v.number, reasonOf(err)), details(err)...)
		}
	}()
	if j.action == regroup {
		err = r.regroup(ctx, v, j.old, c)
	} else {
		if r.opts.Cache != nil {
			v.print = observe(c, j.numbered)
		}
		err = r.fill(ctx, v, c, j)
	}
	if err != nil {
		return nil, err
	}
	v.seconds = time.Since(begin).Seconds()
	v.files.hold()
	v.refs.Store(1)
	return v, nil
}

// reasonOf is an error as the index and the log show it.
func reasonOf(err error) string { return status.From(err).Text() }

func baseName(dir string) string { return filepath.Base(dir) }

// regroup makes a version of one that serves, with other instances of the same
// engine. The counters go on.
func (r *Repository) regroup(ctx context.Context, v, old *version, c *candidate) error {
	config := *c.config
	config.ModelConfig = proto.CloneOf(old.config)
	config.InstanceGroup = proto.CloneOf(c.config.ModelConfig).InstanceGroup
	config.VersionPolicy = c.config.VersionPolicy
	if err := r.groups(r.opts.Backends[config.GetBackend()], &config); err != nil {
		return err
	}
	v.config, v.labels, v.check, v.metadata, v.stats = config.ModelConfig, old.labels, old.check, old.metadata, old.stats
	v.beyond, v.sequences, v.print = old.beyond, old.sequences, old.print
	placements, err := r.placements(v.config)
	if err != nil {
		return err
	}
	old.engine.refs.Add(1)
	v.engine = old.engine
	return r.start(ctx, v, placements)
}

// fill completes the configuration with the backend's help, checks it, and
// makes the engine.
func (r *Repository) fill(ctx context.Context, v *version, c *candidate, j *job) error {
	if isEnsemble(c.config.ModelConfig) {
		return r.assemble(v, c, j.old)
	}
	config := *c.config // keeps the positions of fields
	config.ModelConfig = proto.CloneOf(c.config.ModelConfig)
	if config.GetBackend() == "" {
		return status.New(status.InvalidArg, "must specify 'backend' for '%s'", c.id.name)
	}
	b := r.opts.Backends[config.GetBackend()]
	if b == nil {
		return status.New(status.InvalidArg, "unable to find backend library for backend '%s', try specifying runtime on the model configuration.", config.GetBackend())
	}
	if err := first(&config, config.ValidateRuntime()); err != nil {
		return err
	}
	spec := r.spec(&config, j.numbered)
	if err := r.complete(ctx, b, &config, spec); err != nil {
		return err
	}
	labels, err := readLabels(c.dir, config.ModelConfig)
	if err != nil {
		return err
	}
	if v.beyond, err = asked(&config); err != nil {
		return err
	}
	v.config, v.labels = config.ModelConfig, labels
	v.check = newChecker(forClients(v.config, v.beyond))
	v.metadata = describe(v.config, v.text)
	v.stats = stats.New(v.config, v.text, r.opts.Stats)
	placements, err := r.placements(v.config)
	if err != nil {
		return err
	}
	m, err := b.Load(ctx, spec)
	if err != nil {
		return err
	}
	v.engine = share(m)
	return r.start(ctx, v, placements)
}

// gpuUser is a backend that may be able to use GPUs.
type gpuUser interface{ HasGPU() bool }

// complete lets the backend fill in what the configuration leaves out, and
// checks the whole.
func (r *Repository) complete(ctx context.Context, b backend.Backend, c *modelconfig.Config, spec backend.Spec) error {
	if err := r.groups(b, c); err != nil {
		return err
	}
	if a, ok := b.(backend.AutoCompleter); ok && r.opts.AutoComplete {
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

// groups completes and checks the instance groups.
func (r *Repository) groups(b backend.Backend, c *modelconfig.Config) error {
	machine := r.opts.Machine
	if g, ok := b.(gpuUser); !ok || !g.HasGPU() {
		onCPU(c, machine)
	}
	c.NormalizeInstanceGroups(machine)
	return first(c, c.ValidateInstanceGroups(machine))
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

// start makes the instances of a version that has its engine, which is closed
// when they cannot be made.
func (r *Repository) start(ctx context.Context, v *version, placements []backend.Placement) error {
	run, passive := split(placements)
	err := r.engage(ctx, v, run, passive)
	if err != nil {
		r.unlimit(v)
	}
	return err
}

// engage makes the scheduler and the instances of a version.
func (r *Repository) engage(ctx context.Context, v *version, run, passive []backend.Placement) error {
	if err := r.limit(v, run); err != nil {
		return errors.Join(err, v.engine.Close())
	}
	plan, err := r.samples(v)
	if err != nil {
		return errors.Join(err, v.engine.Close())
	}
	defer plan.Close()
	source, seats, err := r.source(v, len(run))
	if err != nil {
		return errors.Join(err, v.engine.Close())
	}
	v.group = instance.New(instance.Options{
		Name: v.model, Version: v.text, Config: v.config, Model: v.engine, Placements: run, Passive: passive,
		Source: source, Seats: seats, WarmUp: v.warmUp(plan), Observer: v.observer, Stats: v.stats, Log: r.opts.Log,
	})
	if err := v.group.Start(ctx); err != nil {
		return err
	}
	if v.runner, err = r.cached(v, v.front(v.group)); err != nil {
		return errors.Join(err, v.group.Drain(ctx))
	}
	return nil
}

func (r *Repository) spec(c *modelconfig.Config, n numbered) backend.Spec {
	settings := maps.Clone(r.opts.Settings[""])
	if settings == nil {
		settings = map[string]string{}
	}
	maps.Copy(settings, r.opts.Settings[c.GetBackend()])
	return backend.Spec{
		Name: c.GetName(), Version: n.number, Config: c.ModelConfig, Dir: n.dir,
		Settings: settings, Pool: r.opts.Pool, CPUs: r.opts.CPUs, Log: r.opts.Log, Capability: r.opts.Capability,
		File: c.GetDefaultModelFilename(),
	}
}
