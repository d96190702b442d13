package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"triton/perf/recording"
	"triton/pkg/tensor"
)

// The data of a fixed schedule has the time of each request beside its inputs, like a tensor.
// The errors have perf_analyzer's texts.

var (
	errNoSchedule = errors.New("When using `--fixed-schedule`, you must provide a dataset using `--input-data`.")
	errOneStream  = errors.New(`Expected input data JSON to have one stream. Fixed schedule mode must have an input data JSON with a single flat array for the "data" field with one element per request payload.`)
)

// timestampTensor holds milliseconds since the start of the load.
var timestampTensor = Tensor{Name: "timestamp", DataType: tensor.Uint64, Shape: tensor.Shape{1}}

// timestamp returns the time of a step.
func timestamp(step *node, where location) (time.Duration, error) {
	v, err := values(step, []Tensor{timestampTensor}, where)
	if err != nil {
		return 0, err
	}
	ms := binary.LittleEndian.Uint64(v[timestampTensor.Name].Data)
	if ms > uint64(math.MaxInt64/time.Millisecond) {
		return 0, fmt.Errorf("the timestamp of %d milliseconds is too late %s", ms, where)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// orderByTime sorts the steps of a schedule by their times.
func (s *Set) orderByTime(nested bool) error {
	if nested {
		return errOneStream
	}
	steps := s.Streams[0]
	sort.SliceStable(steps, func(i, j int) bool { return steps[i].Time < steps[j].Time })
	return nil
}

// Times returns the times of the steps of a schedule, in ascending order.
func (s *Set) Times() []time.Duration {
	times := make([]time.Duration, len(s.Streams[0]))
	for i := range times {
		times[i] = s.Streams[0][i].Time
	}
	return times
}

// ScheduleEntries returns the number of requests in the files of a fixed schedule. It checks
// what can be checked without the model.
func ScheduleEntries(o Options) (int, error) {
	if len(o.Paths) == 0 {
		return 0, errNoSchedule
	}
	for _, path := range o.Paths {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return 0, fmt.Errorf("'%s' is not a file. When using `--fixed-schedule`, all paths passed to --input-data must be files.", path)
		}
	}
	total := 0
	for _, path := range o.Paths {
		n, err := fileEntries(path)
		if err != nil {
			return 0, err
		}
		total += n
	}
	if total == 0 {
		return 0, errors.New("The dataset provided is empty. When using `--fixed-schedule`, the dataset must contain at least one payload.")
	}
	return total, nil
}

func fileEntries(path string) (int, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("Unable to open JSON file path: '%s'", path)
	}
	if recording.Is(src) {
		_, requests, err := recording.Models(bytes.NewReader(src))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		return requests, nil
	}
	doc, err := parseJSON(src)
	if err != nil {
		return 0, fmt.Errorf("RapidJSON parse error %d. Review JSON file for formatting errors: '%s' (%w)", rapidJSONCode(err), path, err)
	}
	data := doc.get("data")
	if data == nil || data.kind != array || len(doc.names) != 1 {
		return 0, fmt.Errorf("Input data JSON file must contain an object with a single 'data' member that is an array. Review JSON file: '%s'", path)
	}
	return len(data.items), nil
}

// rapidJSONReasons are the beginnings of the reasons of syntax errors, in the order of
// RapidJSON's error codes.
var rapidJSONReasons = []string{
	"none", "The document is empty", "The document root", "Invalid value", "Missing a name", "Missing a colon",
	"Missing a comma or '}'", "Missing a comma or ']'", "Incorrect hex", "The surrogate", "Invalid escape",
	"Missing a closing quotation", "Invalid encoding", "Number too big", "Miss fraction", "Miss exponent",
}

// rapidJSONTermination is RapidJSON's code for a document that a limit ended.
const rapidJSONTermination = 16

func rapidJSONCode(err error) int {
	var syntax *syntaxError
	if !errors.As(err, &syntax) {
		return rapidJSONTermination
	}
	code := slices.IndexFunc(rapidJSONReasons, func(start string) bool { return strings.HasPrefix(syntax.reason, start) })
	if code < 0 {
		return rapidJSONTermination
	}
	return code
}
