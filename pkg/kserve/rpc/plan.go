package rpc

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// planData finds the data of every tensor: its own typed contents, or the next raw
// contents. Raw contents left over are ignored. kind, "input" or "output", is for error
// texts.
func (d *decoder) planData(model, kind string, ts []kserve.Tensor) error {
	raw, typed, marks := 0, 0, d.inputs
	d.plan = slices.Grow(d.plan, len(ts))
	for i := range ts {
		t := &ts[i]
		has := typed < len(d.contents) && d.contents[typed].tensor == i
		var own []tensorParameter
		own, marks = parametersOf(marks, i)
		shared, err := d.lend(own, model, t, has)
		if err != nil {
			return err
		}
		switch {
		case shared:
			d.plan = append(d.plan, dataPlan{raw: -1})
		case has && len(d.raws) > 0:
			return invalid("contents field must not be specified when using raw_%s_contents for '%s' for model '%s'",
				kind, t.Name, model)
		case has:
			p := dataPlan{raw: -1, typed: typed}
			if err := d.planTyped(&p, model, kind, t); err != nil {
				return err
			}
			d.plan = append(d.plan, p)
			typed++
		case raw == len(d.raws):
			return invalid("unable to find data for %s tensor '%s' for model '%s' in request.", kind, t.Name, model)
		default:
			d.plan = append(d.plan, dataPlan{raw: raw, size: d.raws[raw].n})
			raw++
		}
	}
	return nil
}

// lend gives a tensor its data if it is in shared memory.
func (d *decoder) lend(ms []tensorParameter, model string, t *kserve.Tensor, contents bool) (bool, error) {
	slice, shared, err := region(ms, t.Name)
	if err != nil || !shared {
		return false, err
	}
	if contents {
		return false, invalid("unexpected 'content' provided when using shared memory for input tensor '%s' for model '%s'",
			t.Name, model)
	}
	return true, slice.Lend(t, d.regions, d.codec.pool)
}

// planTyped checks the typed contents of a tensor and sums up their size.
func (d *decoder) planTyped(p *dataPlan, model, kind string, t *kserve.Tensor) error {
	c := &d.contents[p.typed]
	for f, n := range c.counts {
		if n == 0 {
			continue
		}
		if p.size > 0 {
			return invalid("unexpected explicit tensor data for %s tensor '%s' for model '%s', "+
				"binary data was already supplied.", kind, t.Name, model)
		}
		if ft := fieldType(f, t.DataType); ft != t.DataType {
			return invalid("unexpected explicit tensor data for %s tensor '%s' for model '%s' of type '%s', "+
				"expected datatype '%s'", kind, t.Name, model, ft, t.DataType)
		}
		if err := inRange(c.msg, f, t); err != nil {
			return err
		}
		p.num, p.width = protowire.Number(f), t.DataType.Size()
		p.size = n * p.width
		if t.DataType == tensor.Bytes {
			p.size = 4*n + c.bytes
		}
	}
	return nil
}
