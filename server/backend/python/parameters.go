package python

import (
	"bytes"
	"encoding/json"
	"strconv"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tritonjson"
)

// appendParameters appends parameters as JSON.
func appendParameters(b []byte, all []kserve.Parameter) []byte {
	if len(all) == 0 {
		return b
	}
	for i := range all {
		p := &all[i]
		if i == 0 {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = tritonjson.AppendValid(b, p.Name)
		b = append(b, ':')
		switch p.Kind {
		case kserve.ParamBool:
			b = strconv.AppendBool(b, p.Bool)
		case kserve.ParamInt:
			b = strconv.AppendInt(b, p.Int, 10)
		case kserve.ParamUint:
			b = strconv.AppendUint(b, p.Uint, 10)
		case kserve.ParamDouble:
			b = tritonjson.AppendFloat(b, p.Double) // also NaN and Infinity, which Python's json reads
		default:
			b = tritonjson.AppendValid(b, p.String)
		}
	}
	return append(b, '}')
}

// parseParameters reads the parameters of a response: numbers, texts and truth values.
func parseParameters(to []kserve.Parameter, text []byte) ([]kserve.Parameter, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return to, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return to, err
		}
		value, err := d.Token()
		if err != nil {
			return to, err
		}
		p := kserve.Parameter{}
		p.Name, _ = key.(string)
		switch v := value.(type) {
		case bool:
			p.Kind, p.Bool = kserve.ParamBool, v
		case string:
			p.Kind, p.String = kserve.ParamString, v
		case json.Number:
			p.Kind = kserve.ParamInt
			if p.Int, err = v.Int64(); err != nil {
				return to, err
			}
		default:
			return to, status.New(status.Internal, "parameter '%s' is no bool, int or str", p.Name)
		}
		to = append(to, p)
	}
	return to, nil
}
