package offline

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"

	"triton/perf/data"
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

func (s *parquetFile) Next() (rowValues, error) {
	var row rowValues
	err := damaged(func() (err error) {
		row, err = s.next()
		return err
	})
	return row, err
}

func (s *parquetFile) next() (rowValues, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	number := s.done
	s.left--
	s.done++
	row := make(rowValues, len(s.inputs))
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
		return nil, &RowError{fmt.Sprintf("row %d of the input", number), bad}
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
