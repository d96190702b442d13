package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triton/pkg/kserve"
	"triton/server/infer"
)

func requested(name string) kserve.RequestedOutput { return kserve.RequestedOutput{Name: name} }

// written is the data and parameters of a response.
func written(r *infer.Response) string {
	var parts []string
	for i := range r.Outputs {
		raw := make([]byte, r.Outputs[i].Data.Len())
		r.Outputs[i].Data.CopyTo(raw)
		parts = append(parts, Values(r.Outputs[i].Name, numbers(raw)))
	}
	all := slices.Clone(r.Parameters)
	slices.SortStableFunc(all, func(a, b kserve.Parameter) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range all {
		switch p.Kind {
		case kserve.ParamBool:
			parts = append(parts, fmt.Sprintf("%s:%v", p.Name, p.Bool))
		case kserve.ParamInt:
			parts = append(parts, fmt.Sprintf("%s:%d", p.Name, p.Int))
		case kserve.ParamString:
			parts = append(parts, fmt.Sprintf("%s:%q", p.Name, p.String))
		}
	}
	return strings.Join(parts, " ")
}
