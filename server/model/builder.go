// Package model is one loaded version of a model: the configuration that its backend has
// completed, the backend's model, the checks of requests, and their runner chain. A Builder
// makes versions; package repository decides what is loaded and when a version is replaced.
package model

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/cache"
	"triton/server/hostpolicy"
	"triton/server/infer"
	"triton/server/repository/agents"
	"triton/server/scheduler"
	"triton/server/stats"
	"triton/server/store"
)

// Options configure a Builder and all versions that it makes.
type Options struct {
	Backends backend.Set
	// BackendDirectory has a folder for each backend that is written in Python.
	BackendDirectory string
	// BackendSettings are the --backend-config pairs by backend name; the pairs
	// under the empty name apply to all.
	BackendSettings map[string]map[string]string
	// AutoComplete lets backends fill in missing fields of configurations.
	AutoComplete bool
	// Bounds limit what one configuration may create.
	Bounds  modelconfig.Bounds
	Machine modelconfig.Machine
	CPUs    int
	Pool    *tensor.Pool
	Log     *slog.Logger
	// GPULimits is the share of a GPU's memory above which loads are refused, by
	// GPU index; GPUUsage reads the share in use now.
	GPULimits map[int]float64
	GPUUsage  func(device int) (float64, error)
	// HostPolicies bind the threads of instances.
	HostPolicies hostpolicy.Policies
	// Limiter limits the rate of the instances of all models; nil: there is no limit.
	Limiter *scheduler.RateLimiter
	// Capability returns the CUDA compute capability of a GPU, such as "8.6"; empty when it is
	// unknown.
	Capability func(device int) string
	// Cache stores the responses of models whose configuration enables it; nil: none.
	Cache cache.Cache
	// NewAlarm makes the timers of queue delays; nil: NewPreciseAlarm. Virtual time needs
	// scheduler.NewAlarm.
	NewAlarm func() scheduler.Alarm
	// Holds delay the first batch of schedulers, for test suites.
	Holds Holds
	// Controller is for models that load other models, Metrics for those that define metrics;
	// either may be nil.
	Controller infer.Controller
	Metrics    *backend.Metrics
	// Phases records how long the phases of loads take; nil: nothing does.
	Phases *stats.LoadRecorder
	// Isolation runs the models of backends in child processes; nil: this program cannot.
	// Isolate does so for all models whose configuration does not say; a backend with
	// processes of its own stays as it is.
	Isolation Isolation
	Isolate   bool
	// Stats configure the counters of the versions.
	Stats stats.Options
}

// Holds are the numbers of requests that wait before a new scheduler forms its first batch.
// Requests counts those in the queue or in sequence slots, Backlog those in the backlog of
// sequences. The zero value does not delay batches.
type Holds struct{ Requests, Backlog int }

// Provenance is what a version was loaded from.
type Provenance struct {
	Origin string                   // the version's folder in the store
	Config *inferencepb.ModelConfig // before the backend completed it
	Stamp  store.Stamp
	// Agents are the repository agents of the load; nil: there are none.
	Agents *agents.Chain
}

// Source is what a version is loaded from.
type Source struct {
	ID     store.ID
	Number int64
	// Folder is the model's folder; Version is the name of the version's folder in it.
	// The version holds Folder as long as it needs the files.
	Folder  *store.Folder
	Version string
	// ConfigEntry is the file or folder in Folder that has the configuration.
	ConfigEntry string
	Config      *modelconfig.Config // not completed; it is not changed
	From        Provenance
	// Models finds the models that this one calls.
	Models infer.Submitter
	// Times are those of the phases before the builder's.
	Times stats.LoadTimes
}

// Builder makes versions.
type Builder struct{ opts Options }

// NewBuilder returns a builder.
func NewBuilder(o Options) *Builder {
	if o.NewAlarm == nil {
		o.NewAlarm = scheduler.NewPreciseAlarm
	}
	return &Builder{o}
}

// Load makes a version with a newly loaded model: load.go.
func (b *Builder) Load(ctx context.Context, s Source) (*LoadedVersion, error) {
	return b.build(s, func(v *LoadedVersion) error {
		if b.opts.Cache != nil {
			v.fingerprint = observeFiles(fingerprintFiles{
				Dir: s.Folder.Dir, Version: s.Version, ConfigEntry: s.ConfigEntry, Fixed: s.Folder.Fixed,
				Libraries: s.Config.GetModelOperations().GetOpLibraryFilename(),
			})
		}
		return b.load(ctx, v, s)
	})
}

// ReplaceInstances makes a version that replaces old, which serves, and differs from it in its instance
// groups only. Instances that both have stay, with their queue and sequences. Those that are added are
// created, and serve when Takeover is called.
func (b *Builder) ReplaceInstances(ctx context.Context, s Source, old *LoadedVersion) (*LoadedVersion, error) {
	s.Folder, s.Version = old.folder, filepath.Base(old.dir)
	return b.build(s, func(v *LoadedVersion) error { return b.replaceInstances(ctx, v, old, s) })
}

// LoadEnsemble makes a version of an ensemble; composing are the versions that its steps use,
// by step. old is the version that it replaces, or nil. If the two differ only in their
// composing models, the counters continue.
func (b *Builder) LoadEnsemble(s Source, composing []*LoadedVersion, old *LoadedVersion) (*LoadedVersion, error) {
	return b.build(s, func(v *LoadedVersion) error {
		v.composing = composing
		return b.loadEnsemble(v, s, old)
	})
}

// build makes a version and lets fill complete it. A panic of the backend becomes an error.
func (b *Builder) build(s Source, fill func(v *LoadedVersion) error) (_ *LoadedVersion, err error) {
	v := &LoadedVersion{
		model: s.ID.Name, namespace: s.ID.Namespace, label: s.ID.String(), number: s.Number, versionText: strconv.FormatInt(s.Number, 10),
		from: s.From, folder: s.Folder, dir: filepath.Join(s.Folder.Dir, s.Version),
		times: s.Times, pool: b.opts.Pool, log: b.opts.Log, callsModels: &atomic.Bool{}, drained: make(chan struct{}),
	}
	v.running = newRunning(v)
	begin := time.Now()
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(b.opts.Log, "panic while loading a model", p, "model", v.label, "version", v.number)
			err = status.New(status.Internal, "the backend of model '%s' panicked while loading: %v", v.label, p)
		}
		if err != nil {
			b.opts.Log.Error(fmt.Sprintf("failed to load '%s' version %d: %s", v.label, v.number, status.From(err).Text()), modelconfig.Details(err)...)
		}
	}()
	if err := fill(v); err != nil {
		return nil, err
	}
	v.loadSeconds = time.Since(begin).Seconds()
	b.opts.Phases.Record(v.namespace, v.model, &v.times)
	b.opts.Log.Debug(fmt.Sprintf("loaded '%s' version %d in %.3f s: %s", v.label, v.number, v.loadSeconds, &v.times))
	v.folder.Hold()
	v.refs.Store(1)
	return v, nil
}
