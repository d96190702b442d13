package traffic

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/pkg/trafficrules"
)

// The reasons of a difference.
const (
	reasonValues     = "values"
	reasonShape      = "shape"
	reasonType       = "data type"
	reasonMissing    = "missing"
	reasonUnexpected = "unexpected"
	reasonError      = "error"
	reasonMalformed  = "malformed"
)

// comparison is the result of comparing two responses.
type comparison struct {
	elements, mismatched uint64
	maxAbs               float64
	diffs                []trafficrules.Diff // one for each output that differs
}

// compareOutputs compares the outputs of the shadow with those of the primary.
func compareOutputs(c *trafficrules.Shadow, primary, other []kserve.Tensor) comparison {
	var r comparison
	for i := range primary {
		a := &primary[i]
		b := tensorNamed(other, a.Name)
		if b == nil {
			r.diffs = append(r.diffs, trafficrules.Diff{Output: a.Name, Reason: reasonMissing})
			continue
		}
		if d := r.output(c, a, b); d != nil {
			d.Output = a.Name
			r.diffs = append(r.diffs, *d)
		}
	}
	for i := range other {
		if tensorNamed(primary, other[i].Name) == nil {
			r.diffs = append(r.diffs, trafficrules.Diff{Output: other[i].Name, Reason: reasonUnexpected})
		}
	}
	return r
}

func tensorNamed(all []kserve.Tensor, name string) *kserve.Tensor {
	i := slices.IndexFunc(all, func(t kserve.Tensor) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// output compares two outputs of the same name; nil: they agree.
func (r *comparison) output(c *trafficrules.Shadow, a, b *kserve.Tensor) *trafficrules.Diff {
	switch {
	case a.DataType != b.DataType:
		return &trafficrules.Diff{Reason: reasonType, Detail: fmt.Sprintf("%s instead of %s", b.DataType, a.DataType)}
	case !slices.Equal(a.Shape, b.Shape):
		return &trafficrules.Diff{Reason: reasonShape, Detail: fmt.Sprintf("%v instead of %v", b.Shape, a.Shape)}
	}
	x, y := contents(&a.Data), contents(&b.Data)
	if a.DataType == tensor.Bytes {
		return r.strings(x, y)
	}
	size := a.DataType.Size()
	if len(x) != len(y) || size == 0 || len(x)%size != 0 {
		return &trafficrules.Diff{Reason: reasonMalformed, Detail: fmt.Sprintf("%d bytes instead of %d", len(y), len(x))}
	}
	r.elements += uint64(len(x) / size)
	if bytes.Equal(x, y) && (!c.NaNDiffers || elementDecoder(a.DataType) == nil) {
		return nil
	}
	return r.numbers(c, a.DataType, x, y)
}

// contents returns the bytes of a tensor; a copy if they are in several pieces.
func contents(d *tensor.Data) []byte {
	if b, ok := d.Contiguous(); ok {
		return b
	}
	b := make([]byte, d.Len())
	d.CopyTo(b)
	return b
}

// numbers compares tensors of equal size element by element.
func (r *comparison) numbers(c *trafficrules.Shadow, d tensor.DataType, x, y []byte) *trafficrules.Diff {
	size, read := d.Size(), elementDecoder(d)
	tolerance, _ := c.Tolerance(d.String())
	diff := trafficrules.Diff{Reason: reasonValues, Elements: len(x) / size}
	for i := 0; i < len(x); i += size {
		a, b := x[i:i+size], y[i:i+size]
		var same bool
		var abs float64
		if read == nil {
			if same = bytes.Equal(a, b); !same {
				abs = math.Abs(integerElement(d, a) - integerElement(d, b))
			}
		} else {
			same, abs = closeEnough(tolerance, !c.NaNDiffers, read(a), read(b))
		}
		diff.MaxAbsError = max(diff.MaxAbsError, abs)
		if same {
			continue
		}
		if diff.Mismatched == 0 {
			diff.Index, diff.PrimaryValue, diff.ShadowValue = i/size, showElement(d, a), showElement(d, b)
		}
		diff.Mismatched++
	}
	r.maxAbs = max(r.maxAbs, diff.MaxAbsError)
	r.mismatched += uint64(diff.Mismatched)
	if diff.Mismatched == 0 {
		return nil
	}
	return &diff
}

// closeEnough reports whether b may stand for a, and their distance; 0 for a pair that has none.
func closeEnough(t trafficrules.Tolerance, sameNaN bool, a, b float64) (same bool, abs float64) {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return sameNaN && math.IsNaN(a) && math.IsNaN(b), 0
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b, 0
	}
	abs = math.Abs(a - b)
	return abs <= t.ATol+t.RTol*math.Abs(a), abs
}

// strings compares BYTES tensors.
func (r *comparison) strings(x, y []byte) *trafficrules.Diff {
	as, errA := elements(x)
	bs, errB := elements(y)
	if errA != nil || errB != nil || len(as) != len(bs) {
		return &trafficrules.Diff{Reason: reasonMalformed, Detail: fmt.Sprintf("%d elements instead of %d", len(bs), len(as))}
	}
	r.elements += uint64(len(as))
	diff := trafficrules.Diff{Reason: reasonValues, Elements: len(as)}
	for i := range as {
		if bytes.Equal(as[i], bs[i]) {
			continue
		}
		if diff.Mismatched == 0 {
			diff.Index, diff.PrimaryValue, diff.ShadowValue = i, showElement(tensor.Bytes, as[i]), showElement(tensor.Bytes, bs[i])
		}
		diff.Mismatched++
	}
	r.mismatched += uint64(diff.Mismatched)
	if diff.Mismatched == 0 {
		return nil
	}
	return &diff
}

func elements(data []byte) (all [][]byte, err error) {
	for e, err := range tensor.Elements(data) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
