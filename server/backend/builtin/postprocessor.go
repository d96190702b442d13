package builtin

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// Postprocessor is the backend "postprocessor". Its one input holds a score per class,
// TYPE_FP32. An output of TYPE_STRING with dims [1] gets the name of the best class;
// one of TYPE_FP32 with the input's dims gets the probabilities, the softmax of the
// scores. Either may be missing.
//
// Parameter: labels, the names in the order of the classes, separated by commas. A
// class without a name is called by its number.
type Postprocessor struct{}

var (
	_ backend.Backend  = Postprocessor{}
	_ backend.Model    = (*postprocessor)(nil)
	_ backend.Instance = (*postprocessor)(nil)
)

// postprocessor is model and instance: it has no state.
type postprocessor struct {
	spec   backend.Spec
	labels []string
}

// Load checks the configuration.
func (Postprocessor) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := check("postprocessor", spec.Config); err != nil {
		return nil, err
	}
	p := &postprocessor{spec: spec}
	if text := spec.Config.GetParameters()["labels"].GetStringValue(); text != "" {
		for label := range strings.SplitSeq(text, ",") {
			p.labels = append(p.labels, strings.TrimSpace(label))
		}
	}
	return p, nil
}

func (p *postprocessor) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return p, nil
}

func (*postprocessor) Close() error { return nil }

// Execute answers each request alone.
func (p *postprocessor) Execute(_ context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	for _, r := range b.Requests {
		p.answer(r)
	}
	b.OutputStart = infer.Now()
	return nil
}

func (p *postprocessor) answer(r *infer.Request) {
	in := r.Input(p.spec.Config.GetInput()[0].GetName())
	if in == nil || len(in.Shape) == 0 || in.Shape[len(in.Shape)-1] == 0 {
		r.Fail(status.New(status.InvalidArg, "%sthere are no scores", r.Tag()))
		return
	}
	classes := int(in.Shape[len(in.Shape)-1])
	scores := floats(&in.Data)
	resp := infer.NewResponse()
	for _, out := range p.spec.Config.GetOutput() {
		if resp.Err != nil || !r.Wants(out.GetName()) {
			continue
		}
		if out.GetDataType() == inferencepb.DataType_TYPE_STRING {
			shape := tensor.Shape{1}
			if p.spec.Config.GetMaxBatchSize() > 0 {
				shape = tensor.Shape{in.Shape[0], 1}
			}
			names := p.bestLabels(scores, classes)
			resp.Err = add(r, resp, out.GetName(), tensor.Bytes, shape, len(names), func(mem []byte) { copy(mem, names) })
			continue
		}
		resp.Err = add(r, resp, out.GetName(), tensor.FP32, in.Shape, in.Data.Len(), func(mem []byte) { softmax(mem, scores, classes) })
	}
	r.Respond(resp, true)
}

func floats(d *tensor.Data) []float32 {
	mem := make([]byte, d.Len())
	d.CopyTo(mem)
	all := make([]float32, len(mem)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(mem[4*i:]))
	}
	return all
}

// bestLabels returns the names of the best classes, one per row.
func (p *postprocessor) bestLabels(scores []float32, classes int) (mem []byte) {
	for row := range len(scores) / classes {
		top := 0
		for i, s := range scores[row*classes : (row+1)*classes] {
			if s > scores[row*classes+top] {
				top = i
			}
		}
		mem = appendElement(mem, p.label(top))
	}
	return mem
}

func appendElement(mem []byte, text string) []byte {
	mem = binary.LittleEndian.AppendUint32(mem, uint32(len(text)))
	return append(mem, text...)
}

// softmax writes the softmax of every row.
func softmax(mem []byte, scores []float32, classes int) {
	for at := 0; at+classes <= len(scores); at += classes {
		row := scores[at : at+classes]
		top, sum := row[0], 0.0
		for _, s := range row {
			top = max(top, s)
		}
		for _, s := range row {
			sum += math.Exp(float64(s - top))
		}
		for i, s := range row {
			binary.LittleEndian.PutUint32(mem[4*(at+i):], math.Float32bits(float32(math.Exp(float64(s-top))/sum)))
		}
	}
}

func (p *postprocessor) label(class int) string {
	if class < len(p.labels) && p.labels[class] != "" {
		return p.labels[class]
	}
	return strconv.Itoa(class)
}
