package onnx

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
	"triton/server/backend"
)

// Graph optimization levels and execution modes, with ONNX Runtime's numbers.
const (
	levelDisable  = 0
	levelBasic    = 1
	levelExtended = 2
	levelAll      = 99

	modeSequential = 0
	modeParallel   = 1
)

// pair is one key and value of ONNX Runtime's configuration.
type pair struct{ key, value string }

// options are the session settings that a configuration makes.
type options struct {
	level        int
	mode         int
	intra, inter int   // 0: not set
	arena        *bool // nil: ONNX Runtime's default
	pattern      *bool
	entries      []pair // session configuration entries
	runEntries   []pair
	libraries    []string // of custom operators
	providers    []requirement.Provider
	graphs       bool // CUDA graphs are asked for
	profile      bool
	optimized    bool // whether the optimized model may be kept
}

// quiet reports whether the session can be opened with a low priority. Threads that an execution provider or
// a library of custom operators starts meanwhile would keep it.
func (o *options) quiet() bool { return len(o.providers) == 0 && len(o.libraries) == 0 }

// parseOptions reads the parameters and the optimization section. gpu says whether the
// session is for a GPU.
func parseOptions(spec backend.Spec, gpu bool) (*options, error) {
	cfg := spec.Config
	o := &options{level: level(cfg.GetOptimization()), libraries: operatorLibraries(spec), optimized: true}
	if err := modelconfig.FirstError(requirement.Check(Name, modelconfig.New("", cfg))); err != nil {
		return nil, err
	}
	p := parameters{values: cfg.GetParameters()}
	p.integer("execution_mode", &o.mode)
	p.integer("intra_op_thread_count", &o.intra)
	p.integer("inter_op_thread_count", &o.inter)
	p.boolean("enable_mem_arena", &o.arena)
	p.boolean("enable_mem_pattern", &o.pattern)
	if v, ok := p.get("memory.enable_memory_arena_shrinkage"); ok {
		o.runEntries = append(o.runEntries, pair{"memory.enable_memory_arena_shrinkage", v})
	}
	for key := range cfg.GetParameters() {
		if v, _ := p.get(key); strings.HasPrefix(key, "session.") {
			o.entries = append(o.entries, pair{key, v})
		}
	}
	sort.Slice(o.entries, func(i, j int) bool { return o.entries[i].key < o.entries[j].key })
	p.flag(parameterProfile, &o.profile)
	p.flag(parameterOptimized, &o.optimized)
	if gpu {
		o.gpuProviders(cfg)
		o.noGraphReplay()
	}
	for _, a := range cfg.GetOptimization().GetExecutionAccelerators().GetCpuExecutionAccelerator() {
		provider, _ := requirement.CPUProvider(a)
		o.providers = append(o.providers, provider)
	}
	return o, nil
}

// warnIgnored logs the parameters of accelerators that are left out.
func warnIgnored(spec backend.Spec) {
	for _, f := range requirement.Ignored(Name, modelconfig.New("", spec.Config)) {
		spec.Log.Warn(fmt.Sprintf("model '%s': %s: the server leaves it out", spec.Name, f.Msg), "hint", f.Hint)
	}
}

// operatorLibraries returns the paths of the libraries with custom operators. A name that is a file
// beside the model, in the version's or the model's folder, is that file; others are left to the
// system, as by Triton.
func operatorLibraries(spec backend.Spec) []string {
	names := slices.Clone(spec.Config.GetModelOperations().GetOpLibraryFilename())
	for i, name := range names {
		for _, dir := range []string{spec.Dir, filepath.Dir(spec.Dir)} {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); filepath.IsLocal(name) && err == nil && info.Mode().IsRegular() {
				names[i] = path
				break
			}
		}
	}
	return names
}

func level(opt *inferencepb.ModelOptimizationPolicy) int {
	switch opt.GetGraph().GetLevel() {
	case -1:
		return levelBasic
	case 1:
		return levelExtended
	case 2:
		return levelDisable
	}
	return levelAll
}

// gpuProviders lists the providers of a GPU in their order: the accelerators, then CUDA. The older
// form of the CUDA options gives way to the accelerator "cuda".
func (o *options) gpuProviders(cfg *inferencepb.ModelConfig) {
	set := map[string]string{}
	p := parameters{values: cfg.GetParameters()}
	p.choice("cudnn_conv_algo_search", requirement.ConvSearches, set)
	p.choice("arena_extend_strategy", requirement.ArenaStrategies, set)
	for _, key := range []string{"gpu_mem_limit", "do_copy_in_default_stream"} {
		if v, ok := p.get(key); ok {
			set[key] = v
		}
	}
	cuda, _ := requirement.GPUProvider(&requirement.Accelerator{Name: "cuda"})
	for _, a := range cfg.GetOptimization().GetExecutionAccelerators().GetGpuExecutionAccelerator() {
		provider, _ := requirement.GPUProvider(a)
		if provider.Name != cuda.Name {
			o.providers = append(o.providers, provider)
			continue
		}
		for _, option := range provider.Options {
			set[option.Key] = option.Value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		cuda = cuda.With(key, set[key])
	}
	o.providers = append(o.providers, cuda)
}

// noGraphReplay keeps CUDA graphs from being captured. A replay reads and writes the device memory
// of the run that was captured, and the inputs and outputs of a batch are elsewhere: the results
// would be those of the first batch.
func (o *options) noGraphReplay() {
	for _, p := range o.providers {
		for _, key := range []string{"enable_cuda_graph", "trt_cuda_graph_enable"} {
			if v, ok := p.Get(key); ok && v != "0" {
				o.runEntries = append(o.runEntries, pair{"gpu_graph_id", "-1"})
				o.graphs = true
				return
			}
		}
	}
}

// onDevice makes the providers of a GPU use this one.
func (o *options) onDevice(device string) {
	for i, p := range o.providers {
		if p.Short == "cuda" || p.Short == "tensorrt" {
			o.providers[i] = p.With("device_id", device)
		}
	}
}

// parameters reads values of the parameters section, which was checked.
type parameters struct {
	values map[string]*inferencepb.ModelParameter
}

func (p *parameters) get(key string) (string, bool) {
	v, ok := p.values[key]
	return v.GetStringValue(), ok
}

func (p *parameters) integer(key string, to *int) {
	if v, ok := p.get(key); ok {
		*to, _ = requirement.ParseInteger(v)
	}
}

func (p *parameters) boolean(key string, to **bool) {
	if v, ok := p.get(key); ok {
		b, _ := requirement.ParseBool(v)
		*to = &b
	}
}

func (p *parameters) flag(key string, to *bool) {
	if v, ok := p.get(key); ok {
		*to, _ = requirement.ParseBool(v)
	}
}

func (p *parameters) choice(key string, names []string, set map[string]string) {
	if v, ok := p.get(key); ok {
		if n, err := requirement.ParseInteger(v); err == nil && 0 <= n && n < len(names) {
			set[key] = names[n]
		}
	}
}
