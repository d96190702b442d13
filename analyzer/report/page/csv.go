package page

import (
	"encoding/csv"
	"io"
)

// WriteCSV writes the first table of the page.
func (p *Page) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	for _, b := range p.Blocks {
		t, ok := b.(Table)
		if !ok {
			continue
		}
		row := make([]string, len(t.Columns))
		for i, column := range t.Columns {
			row[i] = column.Title
		}
		if err := c.Write(row); err != nil {
			return err
		}
		for _, cells := range t.Rows {
			for i, cell := range cells {
				row[i] = cell.String()
			}
			if err := c.Write(row); err != nil {
				return err
			}
		}
		break
	}
	c.Flush()
	return c.Error()
}
