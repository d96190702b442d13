// Package recording records the requests of a server's clients, and reads and writes the file of recorded requests. The
// file has JSON lines: the first one describes the file, each other one is a request with its arrival and its tensors.
// It can be read up to its last whole line, so that a recording that was killed is not lost. Messages and documents call
// it a trace.
package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

const (
	// Format is the value of Header.Format.
	Format = "triton-perf-trace"
	// Version is the version of the format.
	Version = 1
)

// Header is the first line.
type Header struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Started  time.Time `json:"started,omitzero"` // the time that arrivals are counted from
	Program  string    `json:"program,omitempty"`
	Protocol string    `json:"protocol,omitempty"` // HTTP or gRPC
}

// Request is any other line.
type Request struct {
	ArrivalUs    float64        `json:"arrival_us"` // since Header.Started
	Model        string         `json:"model"`
	ModelVersion string         `json:"model_version,omitempty"`
	SequenceID   any            `json:"sequence_id,omitempty"` // a number or a text
	Start        bool           `json:"sequence_start,omitempty"`
	End          bool           `json:"sequence_end,omitempty"`
	Priority     uint64         `json:"priority,omitempty"`
	TimeoutUs    uint64         `json:"timeout_us,omitempty"`
	Parameters   map[string]any `json:"parameters,omitempty"`
	Inputs       []Tensor       `json:"inputs"`
}

// Tensor is an input. Its shape includes the batch dimension. Data holds the elements as
// gRPC's raw contents do.
type Tensor struct {
	Name     string  `json:"name"`
	DataType string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
	Data     []byte  `json:"b64"`
}

// Arrival returns the time of a request since the start.
func (r *Request) Arrival() time.Duration {
	return time.Duration(r.ArrivalUs * float64(time.Microsecond))
}

// FromMessage returns the line of a request. It copies the tensors.
func FromMessage(arrival time.Duration, m *kserve.Request) *Request {
	r := &Request{
		ArrivalUs: float64(arrival) / float64(time.Microsecond), Model: m.ModelName, ModelVersion: m.ModelVersion,
		Start: m.SequenceStart, End: m.SequenceEnd, Priority: m.Priority, TimeoutUs: m.TimeoutMicros,
	}
	if m.SequenceID != 0 {
		r.SequenceID = m.SequenceID
	} else if m.SequenceIDStr != "" {
		r.SequenceID = m.SequenceIDStr
	}
	for _, p := range m.Parameters {
		if r.Parameters == nil {
			r.Parameters = map[string]any{}
		}
		r.Parameters[p.Name] = parameterValue(&p)
	}
	for i := range m.Inputs {
		in := &m.Inputs[i]
		t := Tensor{Name: in.Name, DataType: in.DataType.String(), Shape: in.Shape, Data: make([]byte, in.Data.Len())}
		in.Data.CopyTo(t.Data)
		r.Inputs = append(r.Inputs, t)
	}
	return r
}

func parameterValue(p *kserve.Parameter) any {
	switch p.Kind {
	case kserve.ParamBool:
		return p.Bool
	case kserve.ParamInt:
		return p.Int
	case kserve.ParamUint:
		return p.Uint
	case kserve.ParamDouble:
		if math.IsNaN(p.Double) || math.IsInf(p.Double, 0) {
			return nil // JSON has no such numbers
		}
		text := strconv.FormatFloat(p.Double, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0" // or it would come back as an integer
		}
		return json.Number(text)
	}
	return p.String
}

// Writer writes a file. It is for one goroutine.
type Writer struct {
	w *bufio.Writer
	e *json.Encoder
}

// NewWriter writes the header and returns a writer of requests.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Format, h.Version = Format, Version
	b := bufio.NewWriterSize(w, 1<<16)
	t := &Writer{w: b, e: json.NewEncoder(b)}
	t.e.SetEscapeHTML(false)
	if err := t.e.Encode(h); err != nil {
		return nil, err
	}
	return t, b.Flush()
}

// Write writes a request.
func (w *Writer) Write(r *Request) error { return w.e.Encode(r) }

// Flush passes on what is buffered.
func (w *Writer) Flush() error { return w.w.Flush() }

// Is reports whether a file that begins with these bytes is a recording.
func Is(start []byte) bool {
	return bytes.HasPrefix(start, []byte(`{"format":"`+Format+`"`))
}

// MaxLine bounds a line, which has all tensors of a request.
const MaxLine = 1 << 30

// Read calls each for every request of a file, in the order of the file. A last line without a
// line end is left out: the recording was ended while it wrote it. An error names the line.
func Read(r io.Reader, each func(line int, r *Request) error) (*Header, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	var h *Header
	for line := 1; ; line++ {
		text, err := readLine(b)
		if errors.Is(err, io.EOF) {
			if h == nil {
				return nil, errors.New("line 1: the header of a trace is missing")
			}
			return h, nil
		}
		if err == nil && h == nil {
			h, err = readHeader(text)
		} else if err == nil && len(bytes.TrimSpace(text)) > 0 {
			err = readRequest(text, line, each)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// Models returns the models of a file, sorted, and the number of its requests.
func Models(r io.Reader) (models []string, requests int, err error) {
	_, err = Read(r, func(_ int, req *Request) error {
		requests++
		if !slices.Contains(models, req.Model) {
			models = append(models, req.Model)
		}
		return nil
	})
	slices.Sort(models)
	return models, requests, err
}

// readLine returns a line with its end.
func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > MaxLine {
			return nil, fmt.Errorf("it has more than %d bytes", MaxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func readHeader(text []byte) (*Header, error) {
	var h Header
	err := json.Unmarshal(text, &h)
	switch {
	case err != nil || h.Format != Format:
		return nil, fmt.Errorf("this is no trace of triton perf record: the format %q is missing", Format)
	case h.Version < 1 || h.Version > Version:
		return nil, fmt.Errorf("the trace has version %d of the format, and this program reads version %d", h.Version, Version)
	}
	return &h, nil
}

func readRequest(text []byte, line int, each func(int, *Request) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // parameters: 64 bits do not fit into a float64
	var r Request
	if err := d.Decode(&r); err != nil {
		return err
	}
	if !(r.ArrivalUs >= 0 && r.ArrivalUs < float64(math.MaxInt64/time.Microsecond)) {
		return fmt.Errorf("the arrival %g is no time since the start", r.ArrivalUs)
	}
	return each(line, &r)
}

// KServe returns the parameters of a request in the form of the protocol.
func (r *Request) KServe() ([]kserve.Parameter, error) {
	var all []kserve.Parameter
	for name, v := range r.Parameters {
		p := kserve.Parameter{Name: name}
		switch v := v.(type) {
		case bool:
			p.Kind, p.Bool = kserve.ParamBool, v
		case string:
			p.Kind, p.String = kserve.ParamString, v
		case json.Number:
			if n, err := v.Int64(); err == nil {
				p.Kind, p.Int = kserve.ParamInt, n
				break
			}
			if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
				p.Kind, p.Uint = kserve.ParamUint, n
				break
			}
			f, err := v.Float64()
			if err != nil {
				return nil, fmt.Errorf("the parameter %q: %w", name, err)
			}
			p.Kind, p.Double = kserve.ParamDouble, f
		case nil:
			continue
		default:
			return nil, fmt.Errorf("the parameter %q must be a bool, a number or a text", name)
		}
		all = append(all, p)
	}
	return all, nil
}

// Check refuses a tensor whose data does not have the size of its shape.
func (t *Tensor) Check() error {
	d, ok := tensor.ParseDataType(t.DataType)
	if !ok {
		return fmt.Errorf("input %q has the unknown data type %q", t.Name, t.DataType)
	}
	shape := tensor.Shape(t.Shape)
	elements, err := shape.Elements()
	if err != nil {
		return fmt.Errorf("input %q: %w", t.Name, err)
	}
	if d == tensor.Bytes {
		n, err := tensor.CountElements(t.Data)
		if err != nil || int64(n) != elements {
			return fmt.Errorf("input %q has not the %d texts of its shape %s", t.Name, elements, shape)
		}
		return nil
	}
	if want, err := shape.ByteSize(d); err != nil || want != int64(len(t.Data)) {
		return fmt.Errorf("input %q has %d bytes, which is not the size of %s %s", t.Name, len(t.Data), d, shape)
	}
	return nil
}
