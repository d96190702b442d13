package rows

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// The reader is parquet-go/parquet-go: it adds 4 small modules, where apache/arrow-go adds
// flatbuffers, thrift and a columnar memory that rows would be copied out of.

// parquetFile reads the columns that are inputs, page by page. A column holds single values or
// lists of them, which may be nested.
type parquetFile struct {
	inputs  []data.Tensor
	file    *os.File
	groups  []parquet.RowGroup
	columns []column // of the inputs
	group   int      // of the next row
	left    int64    // rows of the group
	done    int64
	rows    int64
	ignored []string
}

// column is an input and the leaf column of the file that holds it.
type column struct {
	input   int
	leaf    int
	depth   int // nested lists
	present int // the least definition level of a value that is not null
	// unsigned integers are stored in the bits of signed ones.
	unsigned bool
	reader   *columnReader
}

func openParquet(path string, inputs []data.Tensor) (s *parquetFile, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	s = &parquetFile{inputs: inputs, file: f}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	err = damaged(func() error {
		p, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			return fmt.Errorf("it is no Parquet file: %w", err)
		}
		s.groups, s.rows = p.RowGroups(), p.NumRows()
		return s.choose(p.Root())
	})
	return s, err
}

// damaged runs f and turns a panic of the library, which trusts what it reads, into an error.
func damaged(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	return f()
}

// choose finds the columns of the inputs.
func (s *parquetFile) choose(root *parquet.Column) error {
	found := make(Row, len(s.inputs))
	for _, c := range root.Columns() {
		i := index(s.inputs, c.Name())
		if i < 0 {
			s.ignored = append(s.ignored, c.Name())
			continue
		}
		leaf := c
		for !leaf.Leaf() {
			if len(leaf.Columns()) != 1 {
				return fmt.Errorf("column %q is a structure of several columns: use single values and lists", c.Name())
			}
			leaf = leaf.Columns()[0]
		}
		if err := accepts(leaf.Type(), s.inputs[i].DataType); err != nil {
			return fmt.Errorf("column %q: %w", c.Name(), err)
		}
		found[i].Data = []byte{}
		s.columns = append(s.columns, column{
			input: i, leaf: leaf.Index(), depth: leaf.MaxRepetitionLevel(), present: leaf.MaxDefinitionLevel(),
			unsigned: isUnsignedColumn(leaf.Type()),
		})
	}
	return found.check(s.inputs)
}

func isUnsignedColumn(t parquet.Type) bool {
	logical := t.LogicalType()
	if logical == nil {
		return false
	}
	integer, ok := logical.Value.(*format.IntType)
	return ok && !integer.IsSigned
}

// accepts reports why a column cannot be converted to a data type.
func accepts(t parquet.Type, want tensor.DataType) error {
	if logical := t.LogicalType(); logical != nil {
		if _, decimal := logical.Value.(*format.DecimalType); decimal {
			return fmt.Errorf("it has the type %s: save it as an integer or a floating point number", t)
		}
	}
	ok := false
	switch t.Kind() {
	case parquet.Boolean:
		ok = want == tensor.Bool
	case parquet.Int32, parquet.Int64:
		ok = want != tensor.Bool && want != tensor.Bytes
	case parquet.Float, parquet.Double:
		ok = isFloat(want)
	case parquet.ByteArray:
		ok = want == tensor.Bytes
	case parquet.FixedLenByteArray:
		ok = want == tensor.Bytes || want == tensor.FP16 && t.Length() == 2
	}
	if !ok {
		return fmt.Errorf("it has the type %s, which is not converted to the input's %s", t, want)
	}
	return nil
}

func isFloat(t tensor.DataType) bool {
	return t == tensor.FP16 || t == tensor.BF16 || t == tensor.FP32 || t == tensor.FP64
}

func (s *parquetFile) Next() (Row, error) {
	var row Row
	err := damaged(func() (err error) {
		row, err = s.next()
		return err
	})
	return row, err
}

func (s *parquetFile) next() (Row, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	number := s.done
	s.left--
	s.done++
	row := make(Row, len(s.inputs))
	var bad error
	for k := range s.columns {
		c := &s.columns[k]
		values, err := c.reader.row()
		if err != nil {
			return nil, fmt.Errorf("row %d of the input: %w", number, err)
		}
		if row[c.input], err = c.decode(values, s.inputs[c.input]); err != nil && bad == nil {
			bad = inputError(s.inputs[c.input], err)
		}
	}
	if bad == nil {
		bad = row.check(s.inputs)
	}
	if bad != nil {
		return nil, &Error{fmt.Sprintf("row %d of the input", number), bad}
	}
	return row, nil
}

// enter opens the next row group that has rows, when the one before is read.
func (s *parquetFile) enter() error {
	for s.left == 0 {
		if s.group == len(s.groups) {
			return io.EOF
		}
		if err := s.closeColumns(); err != nil {
			return err
		}
		g := s.groups[s.group]
		s.group++
		s.left = g.NumRows()
		chunks := g.ColumnChunks()
		for k := range s.columns {
			s.columns[k].reader = newColumnReader(chunks[s.columns[k].leaf])
		}
	}
	return nil
}

func (s *parquetFile) closeColumns() error {
	var err error
	for k := range s.columns {
		if r := s.columns[k].reader; r != nil {
			err = errors.Join(err, r.close())
			s.columns[k].reader = nil
		}
	}
	return err
}

func (s *parquetFile) Skip(n int64) error {
	return damaged(func() error {
		for n > 0 {
			if err := s.enter(); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			k := min(n, s.left)
			already := s.groups[s.group-1].NumRows() - s.left
			for i := range s.columns {
				if err := s.columns[i].reader.seek(already + k); err != nil {
					return fmt.Errorf("skip %d rows of the input: %w", k, err)
				}
			}
			s.left, s.done, n = s.left-k, s.done+k, n-k
		}
		return nil
	})
}

func (s *parquetFile) Progress() (done, total int64) { return s.done, s.rows }

func (s *parquetFile) Ignored() []string { return s.ignored }

func (s *parquetFile) Close() error { return errors.Join(s.closeColumns(), s.file.Close()) }

// decode converts the values of a row. Repetition levels tell the lengths of the lists.
func (c *column) decode(values []parquet.Value, in data.Tensor) (data.Value, error) {
	if len(values) == 1 && values[0].IsNull() {
		switch {
		case values[0].DefinitionLevel() == 0:
			return data.Value{}, nil // the whole value is null
		case c.depth == 0:
			return data.Value{}, errNull
		}
	}
	shape, err := listShape(values, c.depth, c.present)
	if err != nil {
		return data.Value{}, err
	}
	into := make([]byte, 0, max(in.DataType.Size(), 8)*len(values))
	for i := range values {
		if values[i].DefinitionLevel() < c.present {
			continue // an empty list
		}
		if into, err = c.convert(into, &values[i], in.DataType); err != nil {
			return data.Value{}, err
		}
	}
	if shape, err = fit(shape, in.Shape); err != nil {
		return data.Value{}, err
	}
	return data.Value{Shape: shape, Data: into}, nil
}

var errNull = errors.New("an element is null or an empty list")

// listShape returns the lengths of nested lists, which must be equal at each depth. An element
// with a repetition level r continues the list at depth r, and begins one at each depth below.
func listShape(values []parquet.Value, depth, present int) (tensor.Shape, error) {
	shape := make(tensor.Shape, depth)
	if depth == 0 {
		return shape, nil
	}
	if len(values) == 1 && values[0].DefinitionLevel() < present {
		if depth > 1 {
			return nil, errors.New("its lists are empty, so their shape is unknown")
		}
		return shape, nil
	}
	counts := make(tensor.Shape, depth)
	for i := range values {
		if values[i].DefinitionLevel() < present {
			return nil, errNull
		}
		at := values[i].RepetitionLevel() // 0 begins the row
		if i > 0 {
			for d := depth - 1; d >= at; d-- {
				if err := closeList(shape, counts, d); err != nil {
					return nil, err
				}
			}
		}
		for d := max(at-1, 0); d < depth; d++ {
			counts[d]++
		}
	}
	for d := depth - 1; d >= 0; d-- {
		if err := closeList(shape, counts, d); err != nil {
			return nil, err
		}
	}
	return shape, nil
}

// closeList ends a list at depth d, from 0. The first one sets the length of the others.
func closeList(shape, counts tensor.Shape, d int) error {
	if shape[d] != 0 && shape[d] != counts[d] {
		return errRagged
	}
	shape[d], counts[d] = counts[d], 0
	return nil
}

// convert appends a value in a data type, if it is in its range. Numbers are rounded to the
// precision of floating point types.
func (c *column) convert(into []byte, v *parquet.Value, t tensor.DataType) ([]byte, error) {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return append(into, 1), nil
		}
		return append(into, 0), nil
	case parquet.Int32:
		if c.unsigned {
			return appendUnsigned(into, uint64(v.Uint32()), t)
		}
		return appendSigned(into, int64(v.Int32()), t)
	case parquet.Int64:
		if c.unsigned {
			return appendUnsigned(into, v.Uint64(), t)
		}
		return appendSigned(into, v.Int64(), t)
	case parquet.Float:
		return appendFloat(into, float64(v.Float()), t), nil
	case parquet.Double:
		return appendFloat(into, v.Double(), t), nil
	case parquet.FixedLenByteArray:
		if t == tensor.FP16 {
			return append(into, v.ByteArray()...), nil
		}
	}
	return tensor.AppendElement(into, v.ByteArray()), nil
}

func appendSigned(into []byte, v int64, t tensor.DataType) ([]byte, error) {
	switch {
	case isFloat(t):
		return appendFloat(into, float64(v), t), nil
	case v >= 0:
		return appendUnsigned(into, uint64(v), t)
	case isUnsigned(t) || v < minInt(t):
		return nil, fmt.Errorf("%d is out of the range of %s", v, t)
	}
	return appendUint(into, uint64(v), t.Size()), nil
}

func appendUnsigned(into []byte, v uint64, t tensor.DataType) ([]byte, error) {
	highest := maxUint(t)
	if !isUnsigned(t) {
		highest = uint64(maxInt(t))
	}
	switch {
	case isFloat(t):
		return appendFloat(into, float64(v), t), nil
	case v > highest:
		return nil, fmt.Errorf("%d is out of the range of %s", v, t)
	}
	return appendUint(into, v, t.Size()), nil
}

func isUnsigned(t tensor.DataType) bool {
	return t == tensor.Uint8 || t == tensor.Uint16 || t == tensor.Uint32 || t == tensor.Uint64
}

// columnReader reads the values of one column of a row group, row by row.
type columnReader struct {
	pages   parquet.Pages
	page    parquet.Page
	values  parquet.ValueReader
	buffer  []parquet.Value
	unread  []parquet.Value // of buffer
	current []parquet.Value // the values of the row
}

const valuesAtOnce = 1024

func newColumnReader(c parquet.ColumnChunk) *columnReader {
	return &columnReader{pages: c.Pages(), buffer: make([]parquet.Value, valuesAtOnce)}
}

// row returns the values of the next row, valid until the next call. A row ends in front of a
// value with the repetition level 0.
func (r *columnReader) row() ([]parquet.Value, error) {
	r.current = r.current[:0]
	for {
		if len(r.unread) == 0 {
			err := r.fill()
			switch {
			case errors.Is(err, io.EOF) && len(r.current) > 0:
				return r.current, nil
			case errors.Is(err, io.EOF):
				return nil, io.ErrUnexpectedEOF
			case err != nil:
				return nil, err
			}
		}
		if len(r.current) > 0 && r.unread[0].RepetitionLevel() == 0 {
			return r.current, nil
		}
		if len(r.current) == math.MaxInt32/64 {
			return nil, errors.New("a row has too many values")
		}
		// Values of byte arrays refer to the page, which the next fill releases.
		r.current = append(r.current, r.unread[0].Clone())
		r.unread = r.unread[1:]
	}
}

// fill reads more values, from the next page where this one ends.
func (r *columnReader) fill() error {
	for {
		if r.page == nil {
			page, err := r.pages.ReadPage()
			if err != nil {
				return err
			}
			r.page, r.values = page, page.Values()
		}
		n, err := r.values.ReadValues(r.buffer)
		if n > 0 {
			r.unread = r.buffer[:n]
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err == nil {
			return io.ErrNoProgress
		}
		r.release()
	}
}

func (r *columnReader) release() {
	if r.page != nil {
		parquet.Release(r.page)
		r.page, r.values = nil, nil
	}
}

// seek goes to a row of the row group.
func (r *columnReader) seek(row int64) error {
	r.release()
	r.unread = nil
	return r.pages.SeekToRow(row)
}

func (r *columnReader) close() error {
	r.release()
	return r.pages.Close()
}
