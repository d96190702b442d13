package scaffold

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/tensor"
)

// ReadEnsemble describes an ensemble of models of the repository o.Output that run one after the
// other. A step's input is connected with an output of a step before by its name, or else by its
// type and shape if only one output fits. Inputs without one are inputs of the ensemble, and
// outputs that no step takes are its outputs.
func ReadEnsemble(models []string, o Options) (*Model, error) {
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	if len(models) < 2 {
		return nil, errors.New("an ensemble is made of at least two models")
	}
	if slices.Contains(models, o.Name) {
		return nil, fmt.Errorf("the ensemble %s cannot be one of its own steps", o.Name)
	}
	c := chain{repository: o.Output, config: &inferencepb.ModelConfig{Name: o.Name, Platform: "ensemble"}}
	steps := make([]*inferencepb.ModelConfig, len(models))
	for i, name := range models {
		var err error
		if steps[i], err = composingModel(o.Output, name, o.DefaultMaxBatch); err != nil {
			return nil, err
		}
	}
	if err := c.setBatch(steps, o.MaxBatchSize); err != nil {
		return nil, err
	}
	scheduling := &inferencepb.ModelEnsembling{}
	for i, step := range steps {
		s, err := c.add(step, i == 0)
		if err != nil {
			return nil, err
		}
		scheduling.Step = append(scheduling.Step, s)
	}
	c.finish()
	c.config.SchedulingChoice = &inferencepb.ModelConfig_EnsembleScheduling{EnsembleScheduling: scheduling}
	made := modelconfig.New(modelconfig.FileName, proto.CloneOf(c.config))
	made.Normalize() // as the server does before it checks
	found := slices.Concat(made.Validate(), made.ValidateComposing(func(i int) *inferencepb.ModelConfig { return steps[i] }))
	return &Model{name: o.Name, config: c.config, notes: c.notes}, modelconfig.FirstError(found)
}

// chain is an ensemble while its steps are connected.
type chain struct {
	repository string
	config     *inferencepb.ModelConfig
	tensors    []*link
	notes      []string
}

// link is a tensor of the ensemble.
type link struct {
	name  string
	kind  inferencepb.DataType
	dims  []int64
	from  string // the step whose output it is; empty for an input of the ensemble
	taken bool
}

// setBatch sets the largest batch that all steps take, 0 if one of them does not batch.
func (c *chain) setBatch(steps []*inferencepb.ModelConfig, wanted *int) error {
	smallest := slices.MinFunc(steps, func(a, b *inferencepb.ModelConfig) int { return int(a.MaxBatchSize - b.MaxBatchSize) })
	c.config.MaxBatchSize = smallest.MaxBatchSize
	if wanted == nil {
		return nil
	}
	if *wanted > int(smallest.MaxBatchSize) {
		return fmt.Errorf("the ensemble cannot have max_batch_size %d: that of its step %s is %d", *wanted, smallest.Name, smallest.MaxBatchSize)
	}
	c.config.MaxBatchSize = int32(*wanted)
	return nil
}

// shape returns the dims of a step's tensor as those of the ensemble.
func (c *chain) shape(step *inferencepb.ModelConfig, dims []int64) []int64 {
	if step.MaxBatchSize > 0 && c.config.MaxBatchSize == 0 {
		return slices.Concat([]int64{-1}, dims)
	}
	return dims
}

// add connects the inputs of a step and adds its outputs.
func (c *chain) add(step *inferencepb.ModelConfig, first bool) (*inferencepb.ModelEnsembling_Step, error) {
	s := &inferencepb.ModelEnsembling_Step{
		ModelName: step.Name, ModelVersion: -1, InputMap: map[string]string{}, OutputMap: map[string]string{},
	}
	connected := false
	var open []*inferencepb.ModelInput
	for _, in := range step.Input {
		l := c.named(in, c.shape(step, in.Dims))
		if l == nil {
			open = append(open, in)
			continue
		}
		connected = connected || l.from != ""
		c.connect(s, in.Name, l, "name")
	}
	for _, in := range open {
		dims := c.shape(step, in.Dims)
		l := c.fitting(in, dims)
		switch {
		case l != nil:
			connected = true
			c.connect(s, in.Name, l, "type and shape")
		case in.Optional:
		default:
			s.InputMap[in.Name] = c.addInput(step, in, dims)
		}
	}
	if !first && !connected {
		return nil, fmt.Errorf("model %s takes no output of the models before it, which are %s", step.Name, c.outputs())
	}
	for _, out := range step.Output {
		l := &link{c.free(out.Name, step.Name), out.DataType, c.shape(step, out.Dims), step.Name, false}
		c.tensors = append(c.tensors, l)
		s.OutputMap[out.Name] = l.name
	}
	return s, nil
}

func (c *chain) connect(s *inferencepb.ModelEnsembling_Step, input string, l *link, by string) {
	s.InputMap[input] = l.name
	l.taken = true
	if l.from != "" {
		c.notes = append(c.notes, fmt.Sprintf("%s of %s is the input %s of %s, by its %s", l.name, l.from, input, s.ModelName, by))
	}
}

// named returns the newest tensor with the name of an input that it can be.
func (c *chain) named(in *inferencepb.ModelInput, dims []int64) *link {
	for _, l := range slices.Backward(c.tensors) {
		if l.name == in.Name && l.fits(in, dims) {
			return l
		}
	}
	return nil
}

// fitting returns the only output that no step takes yet and that the input can be.
func (c *chain) fitting(in *inferencepb.ModelInput, dims []int64) *link {
	var only *link
	for _, l := range c.tensors {
		if l.from == "" || l.taken || !l.fits(in, dims) {
			continue
		}
		if only != nil {
			return nil
		}
		only = l
	}
	return only
}

// fits reports whether the tensor can be the input: the types are equal, and the dims where both
// are fixed.
func (l *link) fits(in *inferencepb.ModelInput, dims []int64) bool {
	return l.kind == in.DataType && tensor.Shape(l.dims).Agrees(dims)
}

func (c *chain) addInput(step *inferencepb.ModelConfig, in *inferencepb.ModelInput, dims []int64) string {
	l := &link{c.free(in.Name, step.Name), in.DataType, dims, "", true}
	c.tensors = append(c.tensors, l)
	c.config.Input = append(c.config.Input, &inferencepb.ModelInput{Name: l.name, DataType: l.kind, Dims: l.dims})
	return l.name
}

// free returns a name that no tensor of the ensemble has yet.
func (c *chain) free(name, model string) string {
	taken := func(n string) bool {
		return slices.ContainsFunc(c.tensors, func(l *link) bool { return l.name == n })
	}
	if !taken(name) {
		return name
	}
	other := model + "_" + name
	for i := 2; taken(other); i++ {
		other = fmt.Sprintf("%s_%s_%d", model, name, i)
	}
	return other
}

// finish makes the outputs that no step takes those of the ensemble.
func (c *chain) finish() {
	for _, l := range c.tensors {
		if !l.taken {
			c.config.Output = append(c.config.Output, &inferencepb.ModelOutput{Name: l.name, DataType: l.kind, Dims: l.dims})
		}
	}
}

// outputs lists the outputs of the steps for an error.
func (c *chain) outputs() string {
	var all []string
	for _, l := range c.tensors {
		if l.from != "" {
			all = append(all, fmt.Sprintf("%s of %s (%s %v)", l.name, l.from, l.kind, l.dims))
		}
	}
	return strings.Join(all, ", ")
}
