package requirement

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

// Accelerator is an entry of optimization.execution_accelerators.
type Accelerator = inferencepb.ModelOptimizationPolicy_ExecutionAccelerators_Accelerator

// Provider is an execution provider of ONNX Runtime.
type Provider struct {
	// Name is the name in the library's list of providers.
	Name string
	// Short is the name that ONNX Runtime's functions and files use for the provider.
	Short   string
	Options []ProviderOption // sorted by key
}

// ProviderOption is one option of a provider.
type ProviderOption struct{ Key, Value string }

// Separate reports whether the provider is a library of its own beside ONNX Runtime's.
func (p Provider) Separate() bool {
	return p.Short == "cuda" || p.Short == "tensorrt" || p.Short == "openvino"
}

// Get returns the value of an option.
func (p Provider) Get(key string) (string, bool) {
	for _, o := range p.Options {
		if o.Key == key {
			return o.Value, true
		}
	}
	return "", false
}

// With returns the provider with an option that is added or replaced.
func (p Provider) With(key, value string) Provider {
	options := slices.DeleteFunc(slices.Clone(p.Options), func(o ProviderOption) bool { return o.Key == key })
	p.Options = append(options, ProviderOption{key, value})
	sort.Slice(p.Options, func(i, j int) bool { return p.Options[i].Key < p.Options[j].Key })
	return p
}

// AcceleratorFault is a mistake in an accelerator.
type AcceleratorFault struct {
	Key  string // of the parameter; empty: the name
	Err  error
	Hint string
	// Ignored reports that the parameter is left out, and the model is served.
	Ignored bool
}

// GPUProvider translates an entry of gpu_execution_accelerator. The provider is valid if all faults
// are ignored.
func GPUProvider(a *Accelerator) (Provider, []AcceleratorFault) {
	return translateAccelerator(a, "cuda", "tensorrt")
}

// CPUProvider translates an entry of cpu_execution_accelerator.
func CPUProvider(a *Accelerator) (Provider, []AcceleratorFault) {
	return translateAccelerator(a, "openvino", "coreml", "xnnpack")
}

func translateAccelerator(a *Accelerator, allowed ...string) (Provider, []AcceleratorFault) {
	if !slices.Contains(allowed, a.GetName()) {
		return Provider{}, []AcceleratorFault{{
			Err:  status.New(status.InvalidArg, "unknown Execution Accelerator '%s' is requested", a.GetName()),
			Hint: "write " + strings.Join(allowed, " or "),
		}}
	}
	k := accelerators[a.GetName()]
	set := map[string]string{}
	maps.Copy(set, k.fixed)
	var faults []AcceleratorFault
	for _, key := range slices.Sorted(maps.Keys(a.GetParameters())) {
		if f := k.parameter(key, a.GetParameters()[key], set); f != nil {
			f.Ignored = k.lenient
			faults = append(faults, *f)
		}
	}
	p := Provider{Name: k.provider, Short: k.short}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		p.Options = append(p.Options, ProviderOption{key, set[key]})
	}
	return p, faults
}

// accelerator describes one accelerator.
type accelerator struct {
	title, provider, short string
	fixed                  map[string]string // options that are set when no parameter sets them
	parameters             map[string]acceleratorParameter
	open                   bool // other parameters go to the provider, which checks them
	lenient                bool // Triton reads no parameters: wrong ones are left out
}

// acceleratorParameter says how a parameter becomes an option. It adds the option to set.
type acceleratorParameter func(key, value string, set map[string]string) error

// parameter translates one parameter. An empty value sets nothing.
func (k *accelerator) parameter(key, value string, set map[string]string) *AcceleratorFault {
	translate := k.parameters[key]
	switch {
	case translate == nil && k.open:
		translate = textOption
	case translate == nil:
		return &AcceleratorFault{
			Key:  key,
			Err:  status.New(status.InvalidArg, "unknown parameter '%s' is provided for %s Execution Accelerator", key, k.title),
			Hint: "write one of " + strings.Join(slices.Sorted(maps.Keys(k.parameters)), ", "),
		}
	case value == "":
		return nil
	}
	if err := translate(key, value, set); err != nil {
		return &AcceleratorFault{Key: key, Err: err, Hint: fmt.Sprintf("correct the value %q", value)}
	}
	return nil
}
