package rest

import (
	"slices"
	"strings"

	"triton/pkg/kserve"
	"triton/pkg/tritonjson"
)

// EncodeGenerated appends a response of the generate extension to dst: one flat
// object, members in the order of their names. Of equal names the first of id,
// model, parameters and outputs counts.
func (e *Encoder) EncodeGenerated(dst []byte, resp *kserve.Response) ([]byte, error) {
	all := e.members[:0]
	if resp.ID != "" {
		all = append(all, generatedMember{name: "id", text: &resp.ID})
	}
	all = append(all, generatedMember{name: "model_name", text: &resp.ModelName}, generatedMember{name: "model_version", text: &resp.ModelVersion})
	for i := range resp.Parameters {
		p := &resp.Parameters[i]
		all = append(all, generatedMember{name: p.Name, parameter: p})
	}
	for i := range resp.Outputs {
		t := &resp.Outputs[i]
		all = append(all, generatedMember{name: t.Name, output: t})
	}
	slices.SortStableFunc(all, func(a, b generatedMember) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	var err error
	for i := range all {
		if i > 0 && all[i].name == all[i-1].name {
			continue
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = tritonjson.AppendString(dst, all[i].name)
		dst = append(dst, ':')
		if dst, err = all[i].append(dst); err != nil {
			break
		}
	}
	clear(all)
	e.members = all[:0]
	if err != nil {
		return nil, err
	}
	return append(dst, '}'), nil
}

// generatedMember is one member of the object. Its value is text, parameter or output.
type generatedMember struct {
	name      string
	text      *string
	parameter *kserve.Parameter
	output    *kserve.Tensor
}

func (g *generatedMember) append(dst []byte) ([]byte, error) {
	switch {
	case g.text != nil:
		return tritonjson.AppendString(dst, *g.text), nil
	case g.parameter != nil:
		return appendParameter(dst, g.parameter), nil
	}
	if n, err := g.output.Shape.Elements(); err == nil && n == 1 {
		return AppendElements(dst, g.output)
	}
	dst, err := AppendElements(append(dst, '['), g.output)
	if err != nil {
		return nil, err
	}
	return append(dst, ']'), nil
}
