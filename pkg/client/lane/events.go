package lane

import "bytes"

// eventReader splits a stream of server-sent events, the form of the HTML standard. Lines end
// with a line feed, with or without a carriage return before it; no server sends the third
// form, a carriage return alone.
type eventReader struct {
	judge   func(name, data []byte) (end bool, err error)
	pending []byte // the event that is not complete
	line    int    // start of its last line
	data    []byte // scratch
	count   int    // events with data
}

func (e *eventReader) reset() { e.pending, e.line, e.count = e.pending[:0], 0, 0 }

// add adds bytes that were read, and records the events that they complete. Events of one read
// have different times: programs that read exports divide by their difference.
func (e *eventReader) add(x *Exchange, b []byte) error {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			e.pending = append(e.pending, b...)
			return nil
		}
		e.pending = append(e.pending, b[:end+1]...)
		b = b[end+1:]
		blank := len(bytes.TrimRight(e.pending[e.line:], "\r\n")) == 0
		e.line = len(e.pending)
		if blank {
			if err := e.finish(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish records the pending event if it has data.
func (e *eventReader) finish(x *Exchange) error {
	defer func() { e.pending, e.line = e.pending[:0], 0 }()
	name, data, ok := e.fields()
	if !ok {
		return nil
	}
	e.count++
	end, err := e.judge(name, data)
	if err != nil {
		return err
	}
	x.addResponse(Now())
	x.EmptyFinal = end
	if x.Keep {
		x.keep(e.pending, !end)
	}
	return nil
}

// fields returns the name and the data of the pending event, and whether it has data. Events
// without data, such as comments that keep a connection open, mean nothing.
func (e *eventReader) fields() (name, data []byte, ok bool) {
	e.data = e.data[:0]
	for line := range bytes.Lines(e.pending) {
		field, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = value
		case "data":
			if ok {
				e.data = append(e.data, '\n')
			}
			e.data, ok = append(e.data, value...), true
		}
	}
	return name, e.data, ok
}
