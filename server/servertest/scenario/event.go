package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Event is one line of a script.
type Event struct {
	At      time.Duration
	Kind    Kind
	Name    string // of the request
	Request Request
	text    string
}

// Kind is the kind of an event.
type Kind uint8

// The kinds.
const (
	Send   Kind = iota // a request
	Cancel             // the client of a request cancels it
	End                // the scenario ends no earlier
)

// Request is a request of a client. The words after its name are:
//
//	model=m     the model; by default the first of the scenario
//	rows=2      number of rows; by default 1
//	width=3     elements of a row; by default 1
//	value=7     value of every element; by default 0
//	inputs=A,B  names of the inputs; by default IN
//	outputs=X   names of the requested outputs; by default all
//	seq=4       correlation ID: a number, else a string
//	start, end  flags of the sequence
//	priority=1  priority level
//	timeout=20  timeout in milliseconds
type Request struct {
	Model           string
	Rows, Width     int64
	Value           int32
	Inputs, Outputs []string
	Sequence        string
	Start, End      bool
	Priority        uint64
	Timeout         time.Duration
}

func parseEvent(text string) (Event, error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return Event{}, fmt.Errorf("%q is not an event: a time, and end, cancel or the name of a request", text)
	}
	ms, err := strconv.Atoi(words[0])
	if err != nil {
		return Event{}, err
	}
	e := Event{At: time.Duration(ms) * time.Millisecond, Name: words[1], text: text}
	switch {
	case words[1] == "end":
		e.Kind = End
		return e, nil
	case words[1] == "cancel" && len(words) == 3:
		e.Kind, e.Name = Cancel, words[2]
		return e, nil
	}
	e.Request = Request{Rows: 1, Width: 1, Inputs: []string{"IN"}}
	for _, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		if err := e.Request.set(key, value); err != nil {
			return e, err
		}
	}
	return e, nil
}

func (r *Request) set(key, value string) (err error) {
	var n int64
	switch key {
	case "rows", "width", "value", "timeout":
		n, err = strconv.ParseInt(value, 10, 32)
	}
	switch key {
	case "rows":
		r.Rows = n
	case "width":
		r.Width = n
	case "value":
		r.Value = int32(n)
	case "timeout":
		r.Timeout = time.Duration(n) * time.Millisecond
	case "priority":
		r.Priority, err = strconv.ParseUint(value, 10, 64)
	case "model":
		r.Model = value
	case "inputs":
		r.Inputs = strings.Split(value, ",")
	case "outputs":
		r.Outputs = strings.Split(value, ",")
	case "seq":
		r.Sequence = value
	case "start":
		r.Start = true
	case "end":
		r.End = true
	default:
		err = fmt.Errorf("%q is not a property of a request", key)
	}
	return err
}

// Number returns the sequence if it is a number.
func (r *Request) Number() (uint64, bool) {
	n, err := strconv.ParseUint(r.Sequence, 10, 64)
	return n, err == nil
}
