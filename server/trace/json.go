package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// json is the request in Triton's format: the elements of a JSON array.
func (q *request) json() []byte {
	var b []byte
	for i, t := range q.traces {
		var front []event
		if i == 0 {
			front = q.front
		}
		b = t.appendJSON(b, front)
	}
	return b
}

func (t *Trace) appendJSON(b []byte, front []event) []byte {
	handling, compute := t.core()
	all := slices.Concat(front, handling, compute, t.custom, t.tensors)
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
		b = append(appendString(append(b, `,"timestamps":[{"name":`...), e.name), `,"ns":`...)
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

// appendHeader is the entry that says what the trace is of.
func (t *Trace) appendHeader(b []byte) []byte {
	b = append(t.appendID(b), `,"model_name":`...)
	b = append(appendString(b, t.model), `,"model_version":`...)
	b = append(b, t.version...)
	if t.name != "" {
		b = appendString(append(b, `,"request_id":`...), t.name)
	}
	if t.parent != 0 {
		b = strconv.AppendUint(append(b, `,"parent_id":`...), t.parent, 10)
	}
	return append(b, '}')
}

// appendString writes a JSON string. Triton escapes nothing, and what it writes
// is then no JSON.
func appendString(b []byte, s string) []byte {
	if plain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte{'\n'})...)
}

// plain says whether a string stands in JSON as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
