package onnx

import (
	"maps"
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
	cuda         []pair
}

// quiet reports whether the session can be opened with a low priority. Threads that the CUDA driver or a
// library of custom operators starts meanwhile would keep it.
func (o *options) quiet() bool { return o.cuda == nil && len(o.libraries) == 0 }

// parseOptions reads the parameters and the optimization section. gpu says whether the
// session is for a GPU.
func parseOptions(spec backend.Spec, gpu bool) (*options, error) {
	cfg := spec.Config
	o := &options{level: level(cfg.GetOptimization()), libraries: cfg.GetModelOperations().GetOpLibraryFilename()}
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
	if gpu {
		o.accelerators(cfg)
	}
	return o, nil
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

// accelerators reads the execution accelerators of GPUs and the older form of the CUDA options.
// If both set the same option the accelerator's entry wins.
func (o *options) accelerators(cfg *inferencepb.ModelConfig) {
	set := map[string]string{}
	p := parameters{values: cfg.GetParameters()}
	p.choice("cudnn_conv_algo_search", requirement.ConvSearches, set)
	p.choice("arena_extend_strategy", requirement.ArenaStrategies, set)
	for _, key := range []string{"gpu_mem_limit", "do_copy_in_default_stream"} {
		if v, ok := p.get(key); ok {
			set[key] = v
		}
	}
	for _, a := range cfg.GetOptimization().GetExecutionAccelerators().GetGpuExecutionAccelerator() {
		maps.Copy(set, a.GetParameters())
	}
	for key, value := range set {
		o.cuda = append(o.cuda, pair{key, value})
	}
	sort.Slice(o.cuda, func(i, j int) bool { return o.cuda[i].key < o.cuda[j].key })
}

// defaultMaxBatch returns the backend setting for models that can batch and have no
// max_batch_size.
func defaultMaxBatch(settings map[string]string) (int, error) {
	v, ok := settings["default-max-batch-size"]
	if !ok {
		return 4, nil
	}
	n, err := requirement.Integer(v)
	if err != nil {
		return 0, err
	}
	return max(n, 0), nil
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
		*to, _ = requirement.Integer(v)
	}
}

func (p *parameters) boolean(key string, to **bool) {
	if v, ok := p.get(key); ok {
		b, _ := requirement.Bool(v)
		*to = &b
	}
}

func (p *parameters) choice(key string, names []string, set map[string]string) {
	if v, ok := p.get(key); ok {
		if n, err := requirement.Integer(v); err == nil && 0 <= n && n < len(names) {
			set[key] = names[n]
		}
	}
}
