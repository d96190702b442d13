package offline

import (
	"errors"
	"fmt"
	"io"
	"os"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// numPy reads the rows of one array for each input: the first dimension counts them.
type numPy struct {
	inputs []data.Tensor
	arrays []*array // by input; nil: the input has no file
	next   int64
	rows   int64
}

// array is an open .npy file.
type array struct {
	header
	path  string
	file  *os.File
	shape tensor.Shape // of a row, as the model wants it
	size  int64        // of a row in the file
}

func openNumPy(files []RowFile, inputs []data.Tensor) (_ *numPy, err error) {
	s := &numPy{inputs: inputs, arrays: make([]*array, len(inputs))}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, f := range files {
		i, err := inputOf(f, inputs)
		if err != nil {
			return nil, err
		}
		if s.arrays[i] != nil {
			return nil, fmt.Errorf("%s: input %q has the file %s already", f.Path, inputs[i].Name, s.arrays[i].path)
		}
		if s.arrays[i], err = openArray(f.Path, inputs[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return s, s.check()
}

// inputOf returns the index of the input that a file is for.
func inputOf(f RowFile, inputs []data.Tensor) (int, error) {
	if f.Input == "" {
		if len(inputs) != 1 {
			return 0, fmt.Errorf("%s: the model has %d inputs: name the input of each file, such as %s=%s", f.Path, len(inputs), inputs[0].Name, f.Path)
		}
		return 0, nil
	}
	i := index(inputs, f.Input)
	if i < 0 {
		return 0, fmt.Errorf("%s: the model has no input %q", f.Path, f.Input)
	}
	return i, nil
}

func (s *numPy) check() error {
	var first *array
	for i, a := range s.arrays {
		switch {
		case a == nil && !s.inputs[i].Optional:
			return fmt.Errorf("input %q has no file: add --input %s=FILE.npy", s.inputs[i].Name, s.inputs[i].Name)
		case a == nil:
		case first == nil:
			first, s.rows = a, a.dims[0]
		case a.dims[0] != s.rows:
			return fmt.Errorf("%s has %d rows, %s has %d", a.path, a.dims[0], first.path, s.rows)
		}
	}
	return nil
}

func openArray(path string, in data.Tensor) (a *array, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	a = &array{path: path, file: f}
	if a.header, err = readHeader(f); err != nil {
		return nil, err
	}
	if len(a.dims) == 0 {
		return nil, errors.New("it is a single number, not an array of rows")
	}
	if err := a.kind.matches(in.DataType); err != nil {
		return nil, inputError(in, err)
	}
	row := a.dims[1:]
	if a.fortran && len(row) > 0 {
		return nil, errors.New("it is in Fortran order: save it with numpy.ascontiguousarray")
	}
	n, err := row.Elements()
	if err != nil || n > maxLine/int64(a.kind.size) {
		return nil, fmt.Errorf("a row of the shape %s is larger than %d MiB", row, maxLine>>20)
	}
	a.size = n * int64(a.kind.size)
	if a.shape, err = fit(row, in.Shape); err != nil {
		return nil, inputError(in, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	// The division keeps the product from overflowing.
	if left := info.Size() - a.offset; left < 0 || a.size > 0 && left/a.size < a.dims[0] {
		return nil, fmt.Errorf("the file is cut off: it has %d bytes, %d rows of %d bytes do not fit", info.Size(), a.dims[0], a.size)
	}
	return a, nil
}

// Next reads the rows by their positions: the page cache keeps as much of the file as fits, and
// a file that becomes shorter is an error where a mapping would end the process.
func (s *numPy) Next() (rowValues, error) {
	if s.next >= s.rows {
		return nil, io.EOF
	}
	row := make(rowValues, len(s.inputs))
	for i, a := range s.arrays {
		if a == nil {
			continue
		}
		content := make([]byte, a.size)
		if _, err := a.file.ReadAt(content, a.offset+s.next*a.size); err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", a.path, s.next, err)
		}
		row[i] = data.Value{Shape: a.shape, Data: a.kind.decode(content)}
	}
	s.next++
	return row, nil
}

func (s *numPy) Skip(n int64) error {
	s.next = min(s.next+n, s.rows)
	return nil
}

func (s *numPy) Progress() (done, total int64) { return s.next, s.rows }

func (s *numPy) Ignored() []string { return nil }

func (s *numPy) Close() error {
	var err error
	for _, a := range s.arrays {
		if a != nil {
			err = errors.Join(err, a.file.Close())
		}
	}
	return err
}
