package model

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/stats"
)

// load completes the configuration with the backend's help, checks it, and makes the backend
// model and the runner chain.
func (b *Builder) load(ctx context.Context, v *LoadedVersion, s Source) (err error) {
	begin := time.Now()
	config := *s.Config // keeps the positions of fields
	config.ModelConfig = proto.CloneOf(s.Config.ModelConfig)
	if config.GetBackend() == "" {
		return status.New(status.InvalidArg, "must specify 'backend' for '%s'", v.model)
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = explain(err, v.dir, s.Config.ModelConfig)
		}
	}()
	chosen, err := b.findBackend(&config, v.dir, s.Folder.Dir)
	if err != nil {
		return err
	}
	if err := checkFiles(v.dir, config.GetDefaultModelFilename()); err != nil {
		return err
	}
	chosen = b.chooseForm(ctx, chosen, config.ModelConfig)
	if chosen, err = b.isolate(chosen, &config); err != nil {
		return err
	}
	spec := b.spec(v, &config, s, chosen)
	if a, ok := chosen.Backend.(abandoner); ok {
		defer func() {
			if err != nil {
				a.Abandon()
			}
		}()
	}
	if err := b.complete(ctx, chosen.Backend, &config, spec); err != nil {
		return err
	}
	if v.labels, err = readLabels(s.Folder.Dir, config.ModelConfig); err != nil {
		return err
	}
	if v.extensions, err = extensions(&config); err != nil {
		return err
	}
	v.config = config.ModelConfig
	if v.fingerprint != nil {
		v.fingerprint.Complete(v.model, v.versionText, v.config)
	}
	v.check = newChecker(v.extensions.RequestConfig(v.config))
	v.metadata = Describe(v.config, v.versionText)
	v.stats = stats.New(v.config, v.versionText, b.opts.Stats)
	placements, err := b.placements(v.config)
	if err != nil {
		return err
	}
	v.times.Add(stats.PhaseConfigure, begin)
	defer v.addCreate(time.Now())
	m, err := chosen.Load(ctx, spec)
	if err != nil {
		return err
	}
	v.backend = chosen.Backend
	if v.strategy, err = b.openStrategy(&config, spec, s.Folder.Dir); err != nil {
		return errors.Join(err, m.Close())
	}
	if err = b.startChain(ctx, v, m, placements); err != nil {
		v.closeStrategy()
	}
	return err
}

// replaceInstances completes a version that has the instances of old, which serves, and those that its
// configuration adds.
func (b *Builder) replaceInstances(ctx context.Context, v, old *LoadedVersion, s Source) error {
	config := *s.Config
	config.ModelConfig = proto.CloneOf(old.config)
	config.InstanceGroup = proto.CloneOf(s.Config.ModelConfig).InstanceGroup
	config.VersionPolicy = s.Config.VersionPolicy
	if err := b.completeInstanceGroups(old.backend, &config); err != nil {
		return err
	}
	v.config, v.labels, v.check, v.metadata, v.stats = config.ModelConfig, old.labels, old.check, old.metadata, old.stats
	v.extensions, v.running, v.fingerprint = old.extensions, old.running, old.fingerprint
	v.callsModels = old.callsModels
	defer v.addCreate(time.Now())
	return b.resize(ctx, v, old, v.config)
}

// addCreate adds the time since begin to the creation, except for that of the warm-up.
func (v *LoadedVersion) addCreate(begin time.Time) {
	warmUp := time.Duration(v.warmUpTime.Load())
	v.times[stats.PhaseWarmUp] += warmUp
	v.times[stats.PhaseCreate] += max(time.Since(begin)-warmUp, 0)
}

// spec describes a version to its backend.
func (b *Builder) spec(v *LoadedVersion, c *modelconfig.Config, s Source, f foundBackend) backend.Spec {
	return backend.Spec{
		Name: c.GetName(), Version: v.number, Config: c.ModelConfig, Dir: v.dir,
		Settings: b.backendSettings(f), Pool: b.opts.Pool, CPUs: b.opts.CPUs, Log: b.opts.Log, Capability: b.opts.Capability,
		File: c.GetDefaultModelFilename(), Submitter: v.submitter(s.Models),
		Controller: b.opts.Controller, Metrics: b.opts.Metrics,
	}
}
