package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// Subject is what one search is about: one model, or all models that are profiled at the same time.
type Subject struct {
	Models []Model
	Seed   uint64 // of random choices
	// Devices is how many the servers use: instances without a list of devices are on each of them.
	Devices int
	Mode    string // of the search: that of the settings, or what ensembles need in its place
}

// Name returns the names of the models, joined by commas.
func (s Subject) Name() string {
	names := make([]string, len(s.Models))
	for i, m := range s.Models {
		names[i] = m.Name
	}
	return strings.Join(names, ",")
}

// Model is a model of a subject.
type Model struct {
	settings.Model
	Config    *inferencepb.ModelConfig // complete
	Composing []Model                  // of ensembles, in the order of the steps, and of BLS models
}

// Ensemble reports whether the server runs the model as a sequence of others.
func (m Model) Ensemble() bool { return m.Config.GetEnsembleScheduling() != nil }

// writtenConfig returns the configuration of a model as its user wrote it; nil if there is none.
func (r *runner) writtenConfig(model string) (*inferencepb.ModelConfig, error) {
	if r.settings.ModelRepository == "" {
		return nil, nil
	}
	c, err := modelconfig.ReadFile(modelconfig.PathIn(filepath.Join(r.settings.ModelRepository, model), r.configName(model)))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(r.settings.ModelRepository, model)); err != nil {
			return nil, fmt.Errorf("model %q: %w", model, err)
		}
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", model, err)
	}
	if c.GetName() == "" {
		c.Name = model
	}
	return c.ModelConfig, nil
}

// configName returns the model-config-name of the servers of a model.
func (r *runner) configName(model string) string {
	flags := r.settings.Global.ServerFlags
	if i := slices.IndexFunc(r.settings.Models, func(m settings.Model) bool { return m.Name == model }); i >= 0 {
		flags = r.settings.Models[i].ServerFlags
	}
	name, _ := flags.Get("model-config-name")
	return name
}

// configCompleter completes configurations.
type configCompleter struct {
	runner  *runner
	control Control // nil without a server
}

// complete returns the complete configuration of a model: the server's, with what its user wrote.
func (c configCompleter) complete(ctx context.Context, model string) (*inferencepb.ModelConfig, error) {
	written, err := c.runner.writtenConfig(model)
	if err != nil {
		return nil, err
	}
	if c.control == nil || written.GetEnsembleScheduling() != nil {
		if written == nil {
			return nil, fmt.Errorf("model %q has no %s, and no server can complete it in launch mode %s", model, modelconfig.FileName, c.runner.settings.Server.LaunchMode)
		}
		return written, nil
	}
	served, err := c.servedConfig(ctx, model)
	switch {
	case err == nil && written == nil:
		return served, nil
	case err == nil:
		return completeConfig(written, served), nil
	case written == nil || ctx.Err() != nil:
		return nil, fmt.Errorf("model %q: %w", model, err)
	}
	c.runner.warn(fmt.Sprintf("model %q could not be loaded to complete its configuration, which is taken as it is: %v", model, err))
	return written, nil
}

// servedConfig loads a model and returns its configuration.
func (c configCompleter) servedConfig(ctx context.Context, model string) (*inferencepb.ModelConfig, error) {
	if !c.runner.settings.ReloadModelDisable {
		if err := c.control.Load(ctx, model, noOverride); err != nil {
			return nil, explicitError(err)
		}
		c.runner.session.loadedModels = append(c.runner.session.loadedModels, model)
	}
	return c.control.ModelConfig(ctx, model, "")
}

// prepareSubjects samples the empty server, completes the configurations and returns the subjects.
func (r *runner) prepareSubjects(ctx context.Context) ([]Subject, error) {
	control, err := r.completionServer(ctx)
	if err != nil {
		return nil, err
	}
	r.report.CPUOnly = r.report.CPUOnly || r.noGPUs()
	c := configCompleter{r, control}
	subjects, err := c.subjects(ctx)
	if !r.session.reusable(r.settings.Global) {
		// retire would unload them from the server of the user, which keeps what it has.
		r.session.loadedModels = nil
		r.session.retire()
	}
	return subjects, err
}

// completionServer starts a server to complete configurations, and samples its metrics while it is
// empty. It returns nil if configurations are taken as they are.
func (r *runner) completionServer(ctx context.Context) (Control, error) {
	s := r.session
	if err := s.start(ctx, r.deps.Completer, r.settings.Global); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	if s.control == nil {
		return nil, nil
	}
	if r.settings.Server.LaunchMode == settings.Remote {
		if err := s.remoteReady(ctx); err != nil {
			return nil, err
		}
	}
	if r.settings.Server.LaunchMode == settings.CAPI {
		return s.control, nil // its servers are not those that are measured
	}
	return s.control, s.sampleEmpty(ctx)
}

func (c configCompleter) subjects(ctx context.Context) ([]Subject, error) {
	var models []Model
	for _, m := range c.runner.settings.Models {
		model, err := c.completeModel(ctx, m)
		if err != nil {
			return nil, err
		}
		models = append(models, model)
	}
	sets := make([][]Model, len(models))
	for i, m := range models {
		sets[i] = []Model{m}
	}
	if c.runner.settings.Search.ConcurrentModels && len(models) > 1 {
		sets = [][]Model{models}
	}
	subjects := make([]Subject, len(sets))
	for i, set := range sets {
		mode, err := c.searchMode(set)
		if err != nil {
			return nil, err
		}
		subjects[i] = Subject{Models: set, Seed: c.runner.state.Seed, Devices: max(1, len(c.runner.deps.Devices)), Mode: mode}
	}
	return subjects, nil
}

// searchMode returns the search mode for models that are profiled at the same time, of which not
// every mode is for ensembles.
func (c configCompleter) searchMode(models []Model) (string, error) {
	given, facts := make([]settings.Model, len(models)), map[string]settings.Facts{}
	for i, m := range models {
		given[i] = m.Model
		f := settings.Facts{Ensemble: m.Ensemble()}
		for _, part := range m.Composing {
			f.Composing = append(f.Composing, part.Name)
			facts[part.Name] = settings.Facts{Ensemble: part.Ensemble()}
		}
		facts[m.Name] = f
	}
	mode, notices, err := c.runner.settings.SearchMode(given, facts)
	for _, text := range notices {
		c.runner.warn(text)
	}
	return mode, err
}

// completeModel completes a profiled model and the models that it calls.
func (c configCompleter) completeModel(ctx context.Context, m settings.Model) (Model, error) {
	m.CPUOnly = m.CPUOnly || c.runner.noGPUs()
	config, err := c.complete(ctx, m.Name)
	if err != nil {
		return Model{}, err
	}
	out := Model{Model: m, Config: config}
	if !out.Ensemble() {
		for _, b := range c.runner.settings.BLSComposing {
			composing, err := c.completeComposing(ctx, b)
			if err != nil {
				return Model{}, err
			}
			out.Composing = append(out.Composing, composing)
		}
		return out, nil
	}
	for _, name := range stepModels(config) {
		given := settings.Model{Name: name}
		for _, e := range c.runner.settings.EnsembleComposing {
			if e.Name == name {
				given = e
			}
		}
		composing, err := c.completeComposing(ctx, given)
		if err != nil {
			return Model{}, err
		}
		out.Composing = append(out.Composing, composing)
	}
	return out, nil
}

func (c configCompleter) completeComposing(ctx context.Context, m settings.Model) (Model, error) {
	m.CPUOnly = m.CPUOnly || slices.Contains(c.runner.settings.CPUOnlyComposing, m.Name) || c.runner.noGPUs()
	config, err := c.complete(ctx, m.Name)
	return Model{Model: m, Config: config}, err
}

// noGPUs reports whether the servers have no devices, so that all models are on the CPU.
func (r *runner) noGPUs() bool {
	if r.settings.Server.LaunchMode == settings.Remote { // its metrics say which it has
		return len(r.state.GPUs) == 0 && !r.settings.DCGMDisable
	}
	return len(r.deps.Devices) == 0
}

// stepModels returns the models of an ensemble's steps, each once.
func stepModels(config *inferencepb.ModelConfig) []string {
	var names []string
	for _, s := range config.GetEnsembleScheduling().GetStep() {
		if !slices.Contains(names, s.GetModelName()) {
			names = append(names, s.GetModelName())
		}
	}
	return names
}

// findModel returns the model that a proposal is about.
func findModel(models []Model, name string) (Model, error) {
	for _, m := range models {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("the search proposes model %q, which is not profiled", name)
}

// variants makes the variants of a proposal.
func (r *runner) variants(s Subject, p trial.Proposal) (trial.Config, error) {
	var c trial.Config
	for _, proposed := range p.Members {
		m, err := findModel(s.Models, proposed.Model)
		if err != nil {
			return c, err
		}
		member := trial.Member{Load: proposed.Load}
		for _, pc := range proposed.Composing {
			cm, err := findModel(m.Composing, pc.Model)
			if err != nil {
				return c, err
			}
			v, err := r.state.Names.Variant(cm.Config, pc.Patch, nil)
			if err != nil {
				return c, err
			}
			v.CPUOnly = v.CPUOnly || cm.CPUOnly
			member.Composing = append(member.Composing, v)
		}
		if member.Variant, err = r.state.Names.Variant(m.Config, proposed.Patch, member.Composing); err != nil {
			return c, err
		}
		member.CPUOnly = member.CPUOnly || m.CPUOnly
		c.Members = append(c.Members, member)
	}
	return c, nil
}

func newModelReport(s Subject) ModelReport {
	r := ModelReport{Name: s.Name()}
	for _, m := range s.Models {
		member := MemberReport{Model: m.Name, Ensemble: m.Ensemble(), CPUOnly: m.CPUOnly, Goal: m.Goal}
		for _, c := range m.Composing {
			member.Composing = append(member.Composing, c.Name)
		}
		r.Members = append(r.Members, member)
	}
	return r
}

// recordedMember describes a model of a trial from a checkpoint.
func recordedMember(p *settings.Profile, t trial.Member) MemberReport {
	m := MemberReport{Model: t.Model, CPUOnly: t.CPUOnly, Ensemble: t.Config.GetEnsembleScheduling() != nil, Goal: p.Global.Goal}
	for _, given := range p.Models {
		if given.Name == t.Model {
			m.Goal, m.CPUOnly = given.Goal, m.CPUOnly || given.CPUOnly
		}
	}
	for _, c := range t.Composing {
		m.Composing = append(m.Composing, c.Model)
	}
	return m
}

// countLoad takes from a trial what the report says about all of them.
func (r *Report) countLoad(c trial.Config) {
	for _, m := range c.Members {
		r.RequestRate = r.RequestRate || m.Load.RequestRate > 0
	}
}
