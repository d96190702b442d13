package offline

import (
	"errors"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
)

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
