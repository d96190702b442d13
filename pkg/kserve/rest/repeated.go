package rest

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tritonjson"
)

// errRepeated ends the fast pass: unique returns the error that says where.
var errRepeated = repeated("the request", "member")

// repeated is the error of something that is given twice. Triton reads the first one; then the other
// wish would be lost without a word.
func repeated(where, what string) error {
	return status.New(status.InvalidArg, "%s has more than one %s", where, what)
}

// The members that the protocol defines. Others are ignored, however often they occur.
var (
	requestMembers = []string{"id", "parameters", "inputs", "outputs"}
	inputMembers   = []string{"name", "datatype", "shape", "parameters", "data"}
	outputMembers  = []string{"name", "parameters"}
	inputParams    = []string{paramBinarySize, paramRegion, paramOffset, paramByteSize}
	outputParams   = []string{paramBinary, paramClassification, paramRegion, paramOffset, paramByteSize}
)

// unique returns an error if the request at root has a member or a parameter twice. The syntax was
// checked.
func (d *Decoder) unique(root int) error {
	if err := uniqueMembers(&d.r, root, "the request", "member", requestMembers); err != nil {
		return err
	}
	for _, list := range []struct {
		name, of        string
		members, params []string
	}{{"inputs", "an input", inputMembers, inputParams}, {"outputs", "an output", outputMembers, outputParams}} {
		if !d.r.Find(root, list.name) || !d.r.Is('[') {
			continue
		}
		d.r.Enter()
		for first := true; ; first = false {
			if more, ok := d.r.Element(first); !more || !ok {
				break
			}
			at := d.r.Pos()
			if !d.r.Skip(0) {
				break
			}
			end := d.r.Pos()
			if err := uniqueMembers(&d.r, at, list.of, "member", list.members); err != nil {
				return err
			}
			if d.r.Find(at, "parameters") {
				if err := uniqueMembers(&d.r, d.r.Pos(), list.of, "parameter", list.params); err != nil {
					return err
				}
			}
			d.r.Seek(end)
		}
	}
	return nil
}

// uniqueMembers returns an error if the object at an offset has one of the names twice.
func uniqueMembers(r *tritonjson.Reader, object int, where, what string, names []string) error {
	r.Seek(object)
	if !r.Is('{') {
		return nil
	}
	r.Enter()
	seen := 0
	for first := true; ; first = false {
		name, ok := r.Member(first)
		if !ok || name == nil {
			return nil
		}
		if i := slices.Index(names, string(name)); i >= 0 {
			if seen&(1<<i) != 0 {
				return repeated(where, what+" '"+names[i]+"'")
			}
			seen |= 1 << i
		}
		if !r.Skip(0) {
			return nil
		}
	}
}

// fewParameters is up to how many parameters each is compared with each other.
const fewParameters = 16

// uniqueParameters returns an error if a custom parameter is given twice.
func uniqueParameters(all []kserve.Parameter) error {
	if len(all) <= fewParameters {
		for i := range all {
			for j := range i {
				if all[i].Name == all[j].Name {
					return repeatedParameter(all[i].Name)
				}
			}
		}
		return nil
	}
	seen := make(map[string]struct{}, len(all))
	for i := range all {
		if _, again := seen[all[i].Name]; again {
			return repeatedParameter(all[i].Name)
		}
		seen[all[i].Name] = struct{}{}
	}
	return nil
}

func repeatedParameter(name string) error { return repeated("the request", "parameter '"+name+"'") }
