package trace

import (
	"slices"
	"strconv"

	"triton/pkg/tritonjson"
)

// json returns the traces of the request in Triton's format: elements of a JSON array. Unlike
// Triton, it escapes names, so that the file is always valid JSON.
func (q *request) json() []byte {
	var b []byte
	for i, t := range q.traces {
		var front []event
		if i == 0 {
			front = q.frontendEvents
		}
		b = t.appendJSON(b, front)
	}
	return b
}

func (t *Trace) appendJSON(b []byte, front []event) []byte {
	handling, compute := t.core()
	all := slices.Concat(front, handling, compute, t.activities, t.tensors)
	for i := range inOrder(all) {
		e := &all[i]
		if e.name == "REQUEST_START" {
			b = t.appendHeader(comma(b))
		}
		b = t.appendID(comma(b))
		if e.tensor != nil {
			b = append(b, `,"activity":"`...)
			b = append(append(append(b, e.name...), '"'), e.tensor...)
			b = append(b, '}')
			continue
		}
		b = append(tritonjson.AppendValid(append(b, `,"timestamps":[{"name":`...), e.name), `,"ns":`...)
		b = strconv.AppendInt(b, e.at+t.request.tracer.toMono, 10)
		b = append(b, `}]}`...)
	}
	return b
}

func comma(b []byte) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	return b
}

func (t *Trace) appendID(b []byte) []byte {
	return strconv.AppendUint(append(b, `{"id":`...), t.id, 10)
}

// appendHeader appends the entry that names the model and the request.
func (t *Trace) appendHeader(b []byte) []byte {
	b = append(t.appendID(b), `,"model_name":`...)
	b = append(tritonjson.AppendValid(b, t.model), `,"model_version":`...)
	b = append(b, t.version...)
	if t.name != "" {
		b = tritonjson.AppendValid(append(b, `,"request_id":`...), t.name)
	}
	if t.parent != 0 {
		b = strconv.AppendUint(append(b, `,"parent_id":`...), t.parent, 10)
	}
	return append(b, '}')
}
