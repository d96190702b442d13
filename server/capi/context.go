package capi

import (
	"bytes"
	"encoding/json"
	"strconv"

	"triton/pkg/tritonjson"
)

// addActivity returns a trace's context, a JSON object or empty, with a member more: its name is
// the time of an activity, its value the activity's name. A context of another form is replaced.
func addActivity(context []byte, ns uint64, name string) []byte {
	context = bytes.TrimSpace(context)
	b := []byte{'{'}
	if len(context) > 0 && context[0] == '{' && json.Valid(context) {
		b = append(b, bytes.TrimSpace(context[1:len(context)-1])...)
		if len(b) > 1 {
			b = append(b, ',')
		}
	}
	b = append(b, '"')
	b = strconv.AppendUint(b, ns, 10)
	b = append(b, `":`...)
	b = tritonjson.AppendValid(b, name)
	return append(b, '}')
}
