package offline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"triton/perf/data"
	"triton/pkg/tritonjson"
)

// stdin is the standard input of the process.
type stdin = io.Reader

// maxLine bounds the memory that one line may take.
const maxLine = 256 << 20

// jsonLines reads one JSON object of inputs from each line that is not empty.
type jsonLines struct {
	inputs  []data.Tensor
	in      *bufio.Reader
	file    io.Closer
	size    int64
	read    int64
	number  int    // of the line
	long    []byte // a line that is longer than the buffer
	decoder decoder
	ignored []string
	first   bool // the first row has been read
}

func openJSONLines(path string, inputs []data.Tensor, stdin stdin) (*jsonLines, error) {
	s := &jsonLines{inputs: inputs}
	if path == "-" {
		if stdin == nil {
			return nil, errors.New("there is no standard input")
		}
		s.in = bufio.NewReaderSize(stdin, 1<<20)
		return s, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("cannot read the input: %w", err), f.Close())
	case info.IsDir():
		return nil, errors.Join(fmt.Errorf("cannot read the input: %s is a folder", path), f.Close())
	}
	s.in, s.file, s.size = bufio.NewReaderSize(f, 1<<20), f, info.Size()
	return s, nil
}

func (s *jsonLines) Next() (rowValues, error) {
	line, err := s.line()
	if err != nil {
		return nil, err
	}
	row, names, err := s.decoder.row(line, s.inputs)
	if !s.first {
		s.first = true
		s.ignored = names
	}
	if err != nil {
		return nil, &RowError{fmt.Sprintf("line %d", s.number), err}
	}
	return row, nil
}

// line returns the next line that is not empty, valid until the next call.
func (s *jsonLines) line() ([]byte, error) {
	for {
		line, err := s.rawLine()
		if err != nil {
			return nil, err
		}
		s.number++
		if s.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// rawLine returns the next line. The last one may lack its line end.
func (s *jsonLines) rawLine() ([]byte, error) {
	s.long = s.long[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		s.read += int64(len(part))
		switch {
		case err == nil && len(s.long) == 0:
			return part, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read the input: %w", err)
		}
		if len(s.long)+len(part) > maxLine {
			return nil, fmt.Errorf("line %d of the input is longer than %d MiB", s.number+1, maxLine>>20)
		}
		s.long = append(s.long, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(s.long) == 0:
			return nil, io.EOF
		default:
			return s.long, nil
		}
	}
}

func (s *jsonLines) Skip(n int64) error {
	for range n {
		if _, err := s.line(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
	return nil
}

func (s *jsonLines) Progress() (done, total int64) { return s.read, s.size }

func (s *jsonLines) Ignored() []string { return s.ignored }

func (s *jsonLines) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// decoder decodes rows. It reuses its memory, but the values of rows have memory of their own.
type decoder struct {
	json  tritonjson.Reader
	shape []int64
}

// row decodes one JSON object, and returns its names that are no inputs.
func (d *decoder) row(text []byte, inputs []data.Tensor) (row rowValues, others []string, err error) {
	d.json.Reset(text)
	defer d.json.Release()
	if !d.json.Document() {
		reason, at := d.json.Reason()
		return nil, nil, fmt.Errorf("column %d: %s", at+1, reason)
	}
	if !d.json.Is('{') {
		return nil, nil, errors.New("it is not a JSON object of inputs")
	}
	row = make(rowValues, len(inputs))
	d.json.Enter()
	for first := true; ; first = false {
		name, _ := d.json.Member(first)
		if name == nil {
			break
		}
		i := slices.IndexFunc(inputs, func(t data.Tensor) bool { return t.Name == string(name) })
		switch {
		case i < 0:
			others = append(others, string(name))
			d.json.Skip(0)
			continue
		case row[i].Data != nil:
			return nil, others, fmt.Errorf("input %q is there twice", inputs[i].Name)
		case d.json.Is('n') && inputs[i].Optional:
			d.json.Skip(0)
			continue
		}
		if row[i], err = d.value(inputs[i]); err != nil {
			return nil, others, inputError(inputs[i], err)
		}
	}
	return row, others, row.check(inputs)
}
