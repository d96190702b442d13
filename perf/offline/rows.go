package offline

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// rowValues holds the inputs of one row, by the index of the input. A value without Data is an
// optional input that the row does not have.
type rowValues []data.Value

// Size returns the number of bytes of all values.
func (r rowValues) Size() int {
	n := 0
	for i := range r {
		n += len(r[i].Data)
	}
	return n
}

// rowSource reads the input rows of a run in their order, from JSON lines, NumPy arrays or Parquet files and in bounded
// memory. One goroutine uses it.
type rowSource interface {
	// Next returns the next row, or io.EOF. An *RowError is about this row only: the next call
	// goes on behind it. After any other error nothing more can be read.
	Next() (rowValues, error)
	// Skip drops the next n rows, or all if there are fewer.
	Skip(n int64) error
	// Progress returns how much has been read, in the unit of total: rows, or bytes where
	// rows cannot be counted ahead. total is 0 if it is unknown.
	Progress() (done, total int64)
	// Ignored returns the names of the first row that are no inputs.
	Ignored() []string
	Close() error
}

// RowError says why a row cannot be used.
type RowError struct {
	Where string // such as "line 7"
	Err   error
}

func (e *RowError) Error() string { return e.Where + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// RowFile is a file of rows. With Input it holds only the rows of that input.
type RowFile struct {
	Input, Path string
}

// ParseRowFile parses PATH or INPUT=PATH. A name that contains a slash or a dot in front of the
// equals sign belongs to the path.
func ParseRowFile(text string) RowFile {
	name, path, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(name, `/\.`) {
		return RowFile{Path: text}
	}
	return RowFile{Input: name, Path: path}
}

// openRows opens the files of a run, whose format their names tell. The path "-" reads JSON lines
// from stdin.
func openRows(files []RowFile, inputs []data.Tensor, stdin stdin) (rowSource, error) {
	if len(files) == 0 {
		return nil, errors.New("no input file was given")
	}
	switch ext := strings.ToLower(filepath.Ext(files[0].Path)); {
	case ext == ".npy":
		return openNumPy(files, inputs)
	case len(files) > 1:
		return nil, fmt.Errorf("%s: only .npy files can be given several times, one for each input", files[1].Path)
	case files[0].Input != "":
		return nil, fmt.Errorf("%s: only a .npy file has one input, the others have one name for each: give the path alone", files[0].Path)
	case ext == ".parquet":
		return openParquet(files[0].Path, inputs)
	case ext == ".jsonl", ext == ".ndjson", files[0].Path == "-":
		return openJSONLines(files[0].Path, inputs, stdin)
	}
	return nil, fmt.Errorf("%s: unknown kind of file: use .jsonl (or .ndjson), .npy or .parquet", files[0].Path)
}

// fit returns the shape of a value that has the shape got, for a model that wants want. A flat
// list, or a single value, takes the model's shape if at most one dimension is variable.
func fit(got, want tensor.Shape) (tensor.Shape, error) {
	if got.Matches(want) {
		return got, nil
	}
	if len(got) > 1 {
		return nil, shapeError(got, want)
	}
	n := int64(1)
	if len(got) == 1 {
		n = got[0]
	}
	shape, known, variable := want.Clone(), int64(1), -1
	for i, d := range want {
		switch {
		case d >= 0:
			if d > 0 && known > n/d {
				return nil, shapeError(got, want)
			}
			known *= d
		case variable >= 0:
			return nil, shapeError(got, want)
		default:
			variable = i
		}
	}
	if variable >= 0 {
		if known == 0 || n%known != 0 {
			return nil, shapeError(got, want)
		}
		shape[variable] = n / known
		return shape, nil
	}
	if known != n {
		return nil, shapeError(got, want)
	}
	return shape, nil
}

func shapeError(got, want tensor.Shape) error {
	return fmt.Errorf("its shape is %s, the model's is %s", got, want)
}

// inputError names the input that an error is about.
func inputError(in data.Tensor, err error) error { return fmt.Errorf("input %q: %w", in.Name, err) }

// check returns an error if a required input is missing.
func (r rowValues) check(inputs []data.Tensor) error {
	for i := range inputs {
		if r[i].Data == nil && !inputs[i].Optional {
			return fmt.Errorf("input %q is missing", inputs[i].Name)
		}
	}
	return nil
}

// index returns the index of an input, or -1.
func index(inputs []data.Tensor, name string) int {
	for i := range inputs {
		if inputs[i].Name == name {
			return i
		}
	}
	return -1
}
