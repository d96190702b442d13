// Package lint holds the rules for model repositories, one file per family.
// Configurations are checked by pkg/modelconfig and compared with their graphs by
// pkg/onnxmodel, which the server uses too. This package adds rules for files,
// versions and settings that load but do not do what was intended, leaves out the findings
// that users accept, explains the rules and prints reports.
package lint

import (
	"path/filepath"
	"slices"
	"sort"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/repo"
)

// Options describe the server that will serve the repository.
type Options struct {
	// CPUs is the number of processors; 0 skips the rules about them.
	CPUs int
	// DefaultMaxBatch is the server's default-max-batch-size.
	DefaultMaxBatch int
	// Machine has the GPUs of the machine that serves; nil: it is not known, and has every GPU
	// that a configuration names.
	Machine *modelconfig.Machine
	// Backends are the names of the backends that the server has; nil: those of this program, and
	// it is a note that a model needs another of NVIDIA's.
	Backends []string
	// BackendDirectory is the server's --backend-directory; empty: it has none.
	BackendDirectory string
	// NoWeights reports a checkout without model files once, instead of an error for each model. Left out are the files
	// of the version folders, and the data files of warm-up samples and initial states.
	NoWeights bool
	// Python is the interpreter that reads Python models without running them; empty
	// skips the rules about them.
	Python string
	// ConfigName is the server's --model-config-name: of a model that has this file in configs, the server reads
	// no other configuration. Empty: all configurations of a model are checked.
	ConfigName string
	// Strict reports that the server does not complete configurations.
	Strict bool
	// AllMistakes lists every mistake of a text that cannot be read, instead of the first ones.
	AllMistakes bool
}

// Check runs every rule on the models of one repository. The findings are sorted by
// file and line.
func Check(models []repo.Model, o Options) []repo.Finding {
	var runs []*run
	known := &peers{options: o, runs: map[string]map[string]*run{}}
	for i := range models {
		for n, m := range o.variants(models[i]) {
			r := &run{Model: &m, options: o}
			r.check()
			runs = append(runs, r)
			if n == 0 { // ensembles are checked against the configuration that the server reads by default
				known.add(r)
			}
		}
	}
	python(o.Python, runs)
	for _, r := range runs {
		r.dropCompleted()
	}
	var found []repo.Finding
	for _, r := range runs {
		r.ensemble(known)
	}
	for _, r := range runs {
		found = append(found, r.found...)
	}
	found = append(found, weightless(runs)...)
	sort.SliceStable(found, func(i, j int) bool { return repo.Compare(found[i], found[j]) < 0 })
	return slices.Compact(found)
}

// variants returns the model with each of its configurations that the server may read, the default one
// first.
func (o *Options) variants(m repo.Model) []repo.Model {
	list := []repo.Model{m}
	custom, err := m.CustomConfigs()
	if err != nil {
		return list // the pattern is always valid: CustomConfigs escapes the directory
	}
	for _, path := range custom {
		v := m
		v.ConfigFile = path
		if o.ConfigName != "" && filepath.Base(path) == o.ConfigName+".pbtxt" {
			return []repo.Model{v}
		}
		list = append(list, v)
	}
	if o.ConfigName != "" {
		return list[:1]
	}
	return list
}

// run is the check of one model.
type run struct {
	*repo.Model
	options Options
	found   []repo.Finding
	// unlisted reports that the model was not asked for: an ensemble uses it.
	unlisted bool
	// fixed reports that the file of a Python model has no auto_complete_config.
	fixed bool
	// completing reports that the file of a Python model has, or may have, auto_complete_config.
	completing bool
	// weightless reports that a model file is not there.
	weightless bool
	compared   bool // the ensemble was compared with its composing models
	// unread reports that the server does not even read the model: no ensemble finds it.
	unread bool

	written *modelconfig.Config // as written in the file
	config  *modelconfig.Config // as a server completes it
	served  []servedVersion     // the versions that would be served
	graph   *onnxmodel.Model    // of the highest of them; nil for other backends
}

type servedVersion struct {
	modelconfig.VersionDir
	path string
}

func (r *run) check() {
	if !r.parse() {
		r.unread = true
		return
	}
	r.placeholders()
	r.name()
	r.versions()
	r.agents()
	known := r.detect()
	r.config.Normalize()
	r.unread = !known || len(r.config.ValidateIncomplete()) > 0 || r.config.Name != "" && r.config.CheckName(r.Name) != nil
	r.misplaced()
	r.files()
	r.trees()
	r.programName()
	r.graphs()
	r.frameworks()
	r.config.Normalize()
	r.validate(known)
	r.tensors()
	r.batching()
	r.groups()
	r.parameters()
	r.noEffect()
	r.extensions()
	r.advice()
}

// add reports a finding at a field of the configuration.
func (r *run) add(rule repo.Rule, field, msg, hint string) {
	f := repo.Finding{Rule: rule.ID, Severity: rule.Severity, Model: r.Name, File: r.ConfigFile, Field: field, Msg: msg, Hint: hint}
	if r.written != nil {
		p := r.written.Position(field)
		f.Line, f.Col = p.Line, p.Col
	}
	r.found = append(r.found, f)
}

// addFile reports a finding about a file or directory.
func (r *run) addFile(rule repo.Rule, path, msg, hint string) {
	r.found = append(r.found, repo.Finding{
		Rule: rule.ID, Severity: rule.Severity, Model: r.Name, File: path, Msg: msg, Hint: hint,
	})
}

// addAll reports findings of the packages that the server uses too; such findings stop
// a load.
func (r *run) addAll(found []modelconfig.Finding) {
	for _, f := range found {
		r.add(repo.Rule{ID: f.Rule, Severity: repo.Error}, f.Path, f.Msg, f.Hint)
	}
}

func (r *run) isEnsemble() bool { return r.config.Platform == "ensemble" }

func (r *run) isONNX() bool { return r.config.Backend == "onnxruntime" }

// validate runs the checks of a load. known reports whether the backend is: what follows from an
// unknown one was said.
func (r *run) validate(known bool) {
	for _, f := range r.config.Validate() {
		if known || f.Path != "platform" {
			r.addAll([]modelconfig.Finding{f})
		}
	}
	r.addAll(r.config.ValidateIO())
	r.backend()
	machine := r.machine()
	r.config.NormalizeInstanceGroups(machine)
	r.addAll(r.config.ValidateInstanceGroups(machine))
	r.addAll(r.config.ValidatePassive())
	r.addAll(r.config.ValidateBounds(modelconfig.Bounds{}))
	r.requirements()
}

// machine returns the machine that serves. One that is not known has every GPU of the
// configuration.
func (r *run) machine() modelconfig.Machine {
	if r.options.Machine != nil {
		return *r.options.Machine
	}
	var machine modelconfig.Machine
	for _, g := range r.config.InstanceGroup {
		if g.Kind == inferencepb.ModelInstanceGroup_KIND_GPU {
			machine.GPUs = append(machine.GPUs, 0)
		}
		if g.Kind == inferencepb.ModelInstanceGroup_KIND_GPU || g.Kind == inferencepb.ModelInstanceGroup_KIND_AUTO {
			machine.GPUs = append(machine.GPUs, slices.DeleteFunc(slices.Clone(g.Gpus), func(id int32) bool { return id < 0 })...)
		}
	}
	slices.Sort(machine.GPUs)
	machine.GPUs = slices.Compact(machine.GPUs)
	return machine
}
