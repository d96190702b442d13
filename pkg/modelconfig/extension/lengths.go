package extension

import (
	"slices"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
)

// Lengths enables length buckets: a dimension of some inputs is padded to the next larger bucket,
// so that requests of similar length can be in one batch.
type Lengths struct {
	Buckets []int64 // ascending
	Inputs  []Padded
	// Mask is an input that marks the real elements; nil: none. Clients need
	// not send it.
	Mask    *Padded
	Outputs []Axis // truncated to the real length
}

// Axis is the dimension of a tensor whose size is the length.
type Axis struct {
	Name     string
	DataType tensor.DataType
	Dims     tensor.Shape // as configured, without the batch dimension
	Dim      int          // index into them
}

// Padded is an input with the element that its axis is padded with.
type Padded struct {
	Axis
	Fill []byte
	Real []byte // of a mask: the element for real positions
}

// largestBucket limits the length that a request can be padded to.
const largestBucket = 1 << 24

func (r *reader) lengths() *Lengths {
	defer r.unknown("length_bucket")
	if _, ok := r.text(keyBuckets); !ok {
		for _, key := range []string{keyInputs, keyPadValues, keyMask, keyOutputs} {
			if _, ok := r.text(key); ok {
				r.add(key, "set "+keyBuckets+" too", "it needs %s", keyBuckets)
			}
		}
		return nil
	}
	if r.GetEnsembleScheduling() != nil {
		r.add(keyBuckets, "set it for a composing model", "an ensemble pads nothing itself")
		return nil
	}
	l := &Lengths{Buckets: r.buckets()}
	for _, item := range r.list(keyInputs) {
		if a, ok := r.inputAxis(keyInputs, item); ok && r.once(keyInputs, l, a.Name) {
			l.Inputs = append(l.Inputs, Padded{Axis: a, Fill: zero(a.DataType)})
		}
	}
	if len(l.Inputs) == 0 && len(r.found) == 0 {
		r.add(keyInputs, `name inputs, such as "input_ids, token_type_ids"`, "length buckets need at least one input to pad")
	}
	r.padValues(l)
	if text, ok := r.text(keyMask); ok {
		if a, ok := r.inputAxis(keyMask, text); ok && r.once(keyMask, l, a.Name) {
			one, _ := element(a.DataType, "1")
			l.Mask = &Padded{Axis: a, Fill: zero(a.DataType), Real: one}
		}
	}
	for _, item := range r.list(keyOutputs) {
		a, ok := r.outputAxis(item)
		same := func(o Axis) bool { return o.Name == a.Name && o.Dim == a.Dim }
		switch {
		case !ok:
		case slices.ContainsFunc(l.Outputs, same):
			r.add(keyOutputs, "name it once", "dimension %d of output '%s' is named twice", a.Dim, a.Name)
		default:
			l.Outputs = append(l.Outputs, a)
		}
	}
	return l
}

// list returns the items of a parameter, separated by commas.
func (r *reader) list(key string) []string {
	text, ok := r.text(key)
	if !ok {
		return nil
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			r.add(key, "", "'%s' has an empty item", text)
		} else {
			items = append(items, item)
		}
	}
	return items
}

func (r *reader) buckets() []int64 {
	var all []int64
	for _, item := range r.list(keyBuckets) {
		n, err := strconv.ParseInt(item, 10, 64)
		switch {
		case err != nil || n < 1 || n > largestBucket:
			r.add(keyBuckets, "", "'%s' is not a length from 1 to %d", item, largestBucket)
		case len(all) > 0 && n <= all[len(all)-1]:
			r.add(keyBuckets, `write them in rising order, such as "64, 128, 256"`, "%d does not come after %d", n, all[len(all)-1])
		default:
			all = append(all, n)
		}
	}
	return all
}

// once reports whether an input is not padded yet, and adds a finding if it is.
func (r *reader) once(key string, l *Lengths, name string) bool {
	if slices.ContainsFunc(l.Inputs, func(p Padded) bool { return p.Name == name }) {
		r.add(key, "name it once, as input or as mask", "input '%s' is named twice", name)
		return false
	}
	return true
}

// padValues reads "input=value" items.
func (r *reader) padValues(l *Lengths) {
	for _, item := range r.list(keyPadValues) {
		at := strings.LastIndexByte(item, '=')
		if at < 0 {
			r.add(keyPadValues, `write "input=value"`, "'%s' has no '='", item)
			continue
		}
		name, value := strings.TrimSpace(item[:at]), strings.TrimSpace(item[at+1:])
		i := slices.IndexFunc(l.Inputs, func(p Padded) bool { return p.Name == name })
		if i < 0 {
			r.add(keyPadValues, "name it there", "'%s' is not in %s", name, keyInputs)
			continue
		}
		fill, ok := element(l.Inputs[i].DataType, value)
		if !ok {
			r.add(keyPadValues, "", "'%s' is not a value of type %s, which input '%s' has", value, l.Inputs[i].DataType.ConfigName(), name)
			continue
		}
		l.Inputs[i].Fill = fill
	}
}

// inputAxis reads "input" or "input:dim".
func (r *reader) inputAxis(key, item string) (Axis, bool) {
	name, dim := split(item, func(name string) bool { return r.input(name) != nil })
	in := r.input(name)
	switch {
	case in == nil:
		r.add(key, "", "model has no input '%s'", name)
		return Axis{}, false
	case in.GetAllowRaggedBatch():
		r.add(key, "remove allow_ragged_batch", "input '%s' is ragged and needs no padding", name)
		return Axis{}, false
	case in.GetIsShapeTensor():
		r.add(key, "", "input '%s' is a shape tensor", name)
		return Axis{}, false
	}
	return r.axis(key, "input", name, dim, in.GetDataType(), in.GetDims())
}

// outputAxis reads "output" or "output:dim".
func (r *reader) outputAxis(item string) (Axis, bool) {
	find := func(name string) int {
		return slices.IndexFunc(r.Output, func(o *inferencepb.ModelOutput) bool { return o.GetName() == name })
	}
	name, dim := split(item, func(name string) bool { return find(name) >= 0 })
	i := find(name)
	if i < 0 {
		r.add(keyOutputs, "", "model has no output '%s'", name)
		return Axis{}, false
	}
	return r.axis(keyOutputs, "output", name, dim, r.Output[i].GetDataType(), r.Output[i].GetDims())
}

// split splits the dimension off an item, unless the whole item is a known name; dim is
// "" if there is none.
func split(item string, known func(name string) bool) (name, dim string) {
	if at := strings.LastIndexByte(item, ':'); at >= 0 && !known(item) {
		return strings.TrimSpace(item[:at]), strings.TrimSpace(item[at+1:])
	}
	return item, ""
}

// axis checks that a tensor has such a dimension and that it may vary.
func (r *reader) axis(key, kind, name, dim string, d inferencepb.DataType, dims []int64) (Axis, bool) {
	a := Axis{Name: name, DataType: tensor.DataType(d), Dims: dims}
	if a.DataType.Size() == 0 {
		r.add(key, "", "%s '%s' is of type %s, which cannot be padded", kind, name, a.DataType.ConfigName())
		return a, false
	}
	if dim == "" {
		a.Dim = slices.Index(dims, -1)
		if a.Dim < 0 || slices.Contains(dims[a.Dim+1:], -1) {
			r.add(key, `say which, such as "`+name+`:0"`, "%s '%s' has dims %v, which must have exactly one -1", kind, name, a.Dims)
			return a, false
		}
		return a, true
	}
	n, err := strconv.Atoi(dim)
	if err != nil || n < 0 || n >= len(dims) || dims[n] != -1 {
		r.add(key, "count the dims from 0, without the batch dimension", "'%s' is not a variable dimension of %s '%s'; its dims are %v", dim, kind, name, a.Dims)
		return a, false
	}
	a.Dim = n
	return a, true
}
