package simulate

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is an arrival in the format of traces.
type record struct {
	At       int64  `json:"at_us"`
	Rows     int    `json:"rows"`
	Shape    int64  `json:"shape"`
	Priority uint64 `json:"priority"`
	Timeout  int64  `json:"timeout_us"`
}

// columns are those of a trace in CSV; only the first is required.
var columns = []string{"at_us", "rows", "shape", "priority", "timeout_us"}

// maxMicros bounds times in traces to a year.
const maxMicros = 365 * 24 * int64(time.Hour/time.Microsecond)

// ReadTrace reads arrivals, in the order of their times. Each line is a JSON
// object or, after a line with the names of the columns, comma-separated values:
// at_us (microseconds since the start), rows, shape, priority and timeout_us. All
// but the first may be left out.
func ReadTrace(in io.Reader) ([]Arrival, error) {
	r := bufio.NewReader(in)
	first, err := r.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	case first[0] == '{':
		return readJSON(r)
	}
	return readCSV(r)
}

func readJSON(in io.Reader) ([]Arrival, error) {
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	var all []Arrival
	for {
		var r record
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err == nil {
			all, err = r.add(all)
		}
		if err != nil {
			return nil, fmt.Errorf("arrival %d: %w", len(all)+1, err)
		}
	}
}

func readCSV(in io.Reader) ([]Arrival, error) {
	d := csv.NewReader(in)
	d.ReuseRecord, d.TrimLeadingSpace = true, true
	head, err := d.Read()
	if err != nil {
		return nil, err
	}
	head = slices.Clone(head)
	for i, name := range head {
		if !slices.Contains(columns, name) || slices.Contains(head[:i], name) {
			return nil, fmt.Errorf("column '%s' is unknown or repeated; the columns are %s", name, strings.Join(columns, ", "))
		}
	}
	var all []Arrival
	for {
		row, err := d.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		var r record
		if err == nil {
			err = r.parse(head, row)
		}
		if err == nil {
			all, err = r.add(all)
		}
		if err != nil {
			return nil, fmt.Errorf("arrival %d: %w", len(all)+1, err)
		}
	}
}

func (r *record) parse(head, row []string) error {
	for i, text := range row {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("'%s' in column %s is not a number from 0", text, head[i])
		}
		switch head[i] {
		case "at_us":
			r.At = n
		case "rows":
			r.Rows = int(n)
		case "shape":
			r.Shape = n
		case "priority":
			r.Priority = uint64(n)
		case "timeout_us":
			r.Timeout = n
		}
	}
	return nil
}

// add checks the record and appends it.
func (r *record) add(all []Arrival) ([]Arrival, error) {
	a := Arrival{
		At: time.Duration(r.At) * time.Microsecond, Rows: r.Rows, Shape: r.Shape,
		Priority: r.Priority, Timeout: time.Duration(r.Timeout) * time.Microsecond,
	}
	switch {
	case r.At < 0 || r.At > maxMicros || r.Timeout < 0 || r.Timeout > maxMicros:
		return all, fmt.Errorf("times are from 0 to %d us", maxMicros)
	case r.Rows < 0 || r.Shape < 0:
		return all, errors.New("rows and shape are not negative")
	case len(all) > 0 && a.At < all[len(all)-1].At:
		return all, errors.New("arrivals must be in the order of their times")
	}
	return append(all, a), nil
}
