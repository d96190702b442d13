package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
)

// Experiment is one level of a profile export file.
type Experiment struct {
	Mode     string
	Value    float64
	Requests []Request
}

// Export is a profile export file, of perf_analyzer or of triton perf.
type Export struct {
	ServiceKind, Endpoint string
	Experiments           []Experiment
}

// ReadExport reads a profile export file.
func ReadExport(r io.Reader) (*Export, error) {
	var file struct {
		Experiments []struct {
			Experiment struct {
				Mode  string  `json:"mode"`
				Value float64 `json:"value"`
			} `json:"experiment"`
			Requests []exported `json:"requests"`
		} `json:"experiments"`
		ServiceKind string `json:"service_kind"`
		Endpoint    string `json:"endpoint"`
	}
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, fmt.Errorf("not a profile export file: %w", err)
	}
	if file.Experiments == nil || file.ServiceKind == "" {
		return nil, fmt.Errorf("not a profile export file: it has no experiments or no service_kind")
	}
	e := &Export{ServiceKind: file.ServiceKind, Endpoint: file.Endpoint}
	for i, x := range file.Experiments {
		level := Experiment{Mode: x.Experiment.Mode, Value: x.Experiment.Value}
		for k := range x.Requests {
			r, err := x.Requests[k].request(file.ServiceKind)
			if err != nil {
				return nil, fmt.Errorf("experiment %d, request %d: %w", i, k, err)
			}
			level.Requests = append(level.Requests, r)
		}
		e.Experiments = append(e.Experiments, level)
	}
	return e, nil
}

// exported is a request in the file.
type exported struct {
	Timestamp int64                        `json:"timestamp"`
	Inputs    map[string]json.RawMessage   `json:"request_inputs"`
	Times     []int64                      `json:"response_timestamps"`
	Outputs   []map[string]json.RawMessage `json:"response_outputs"`
}

func (x *exported) request(kind string) (Request, error) {
	if len(x.Times) != len(x.Outputs) {
		return Request{}, fmt.Errorf("%d response_timestamps and %d response_outputs", len(x.Times), len(x.Outputs))
	}
	responses := make([]timed, len(x.Times))
	for i := range responses {
		responses[i] = timed{x.Times[i], fieldsOfJSON(x.Outputs[i])}
	}
	return newRequest(kind, x.Timestamp, fieldsOfJSON(x.Inputs), responses), nil
}

func fieldsOfJSON(m map[string]json.RawMessage) []field {
	all := make([]field, 0, len(m))
	for name, value := range m {
		f := field{name: name}
		var s string
		var list []json.RawMessage
		var texts []string
		switch {
		case json.Unmarshal(value, &s) == nil:
			// An empty text also stands for a tensor of any type without elements.
			f.isText, f.text = true, []byte(s)
		case json.Unmarshal(value, &texts) == nil:
			f.isText, f.text = true, []byte(strings.Join(texts, ""))
		case json.Unmarshal(value, &list) == nil:
			f.numbers = len(list)
		default:
			f.numbers = 1
		}
		all = append(all, f)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}
