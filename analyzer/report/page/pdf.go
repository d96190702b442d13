package page

import (
	"io"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// Sizes of a PDF page, in points.
const (
	margin   = 40
	bodySize = 10
	leading  = 14
)

// pdf lays a page out.
type pdf struct {
	*fpdf.Fpdf
	width, height float64 // of the text
}

// WritePDF writes the page on sheets of A4; on broad ones if a table has many columns. The time is
// the one in the document's properties.
func (p *Page) WritePDF(w io.Writer, created time.Time) error {
	return p.layout(created).Output(w)
}

func (p *Page) layout(created time.Time) *fpdf.Fpdf {
	orientation := "P"
	for _, b := range p.Blocks {
		if t, ok := b.(Table); ok && len(t.Columns) > 7 {
			orientation = "L"
		}
	}
	f := fpdf.New(orientation, "pt", "A4", "")
	f.SetCatalogSort(true)
	f.SetCreationDate(created)
	f.SetModificationDate(created)
	f.SetTitle(p.Title+": "+p.Subtitle, true)
	f.SetCreator(p.Program, true)
	f.SetLang("en")
	f.SetMargins(margin, margin, margin)
	f.SetAutoPageBreak(true, margin)
	f.SetCellMargin(0)
	addFonts(f)
	f.AddPage()
	w, h := f.GetPageSize()
	d := pdf{f, w - 2*margin, h - 2*margin}
	d.font(18, true)
	d.MultiCell(d.width, 24, printable(p.Title), "", "L", false)
	if p.Subtitle != "" {
		d.font(13, false)
		d.MultiCell(d.width, 18, printable(p.Subtitle), "", "L", false)
	}
	if p.Program != "" {
		d.font(8, false)
		d.MultiCell(d.width, 12, printable("Written by "+p.Program+"."), "", "L", false)
	}
	for _, b := range p.Blocks {
		d.Ln(6)
		d.add(b)
	}
	return f
}

func (d pdf) font(size float64, bold bool) {
	style := ""
	if bold {
		style = "B"
	}
	d.SetFont(fontFamily, style, size)
	d.SetTextColor(0, 0, 0)
}

func (d pdf) add(b Block) {
	switch b := b.(type) {
	case Heading:
		d.room(60) // a heading stays with what follows
		d.Ln(6)
		d.font(13, true)
		d.MultiCell(d.width, 18, printable(string(b)), "", "L", false)
	case Paragraph:
		d.text(Text(b))
		d.Ln(leading)
	case ChartText:
		d.add(Paragraph(Plain(string(b))))
	case Code:
		for _, line := range b {
			d.add(Paragraph(Plain(line)))
		}
	case List:
		for _, t := range b {
			d.room(leading)
			d.font(bodySize, false)
			d.SetX(margin + 6)
			d.Write(leading, "•  ")
			d.SetLeftMargin(margin + 18)
			d.text(t)
			d.SetLeftMargin(margin)
			d.Ln(leading)
		}
	case Charts:
		d.charts(b)
	case Table:
		d.table(b)
	}
}

func (d pdf) text(t Text) {
	for _, s := range t {
		d.font(bodySize, s.Bold)
		d.Write(leading, printable(s.Text))
	}
}

// room begins a new page unless the current one has room for a height.
func (d pdf) room(height float64) {
	if d.GetY()+min(height, d.height) > d.height+margin {
		d.AddPage()
	}
}

// charts draws two charts beside one another, or one alone.
func (d pdf) charts(figures Charts) {
	columns := min(2, len(figures))
	const gap = 16
	for row := 0; row < len(figures); row += columns {
		width := (d.width - gap*float64(columns-1)) / float64(columns)
		if columns == 1 {
			width = min(width, 460)
		}
		figuresOfRow := figures[row:min(row+columns, len(figures))]
		height := 0.0
		for _, f := range figuresOfRow {
			height = max(height, pdfHeight(f.Chart, width))
		}
		d.room(height + 30)
		top := d.GetY()
		for i, f := range figuresOfRow {
			x := margin + float64(i)*(width+gap)
			drawPDF(d.Fpdf, f.Chart, x, top, width)
			d.font(8, false)
			d.SetXY(x, top+height+2)
			d.MultiCell(width, 11, printable(f.Caption), "", "C", false)
		}
		d.SetXY(margin, top+height+28)
	}
}

// table draws a table whose columns share the width by what is in them. The header is repeated on
// each page.
func (d pdf) table(t Table) {
	const size, line, pad = 8, 11, 4
	d.room(80)
	d.font(9, false)
	d.MultiCell(d.width, 12, printable(t.Caption), "", "L", false)
	d.Ln(2)
	widths := tableWidths(t, d.width, size, 2*pad)
	header := make([]Text, len(t.Columns))
	for i, c := range t.Columns {
		header[i] = Text{{c.title(), true}}
	}
	d.SetAutoPageBreak(false, margin)
	defer d.SetAutoPageBreak(true, margin)
	d.row(t, header, widths, size, line, pad)
	for _, r := range t.Rows {
		if d.GetY()+d.rowHeight(r, widths, size, line, pad) > d.height+margin {
			d.AddPage()
			d.row(t, header, widths, size, line, pad)
		}
		d.row(t, r, widths, size, line, pad)
	}
}

// tableWidths shares a width among columns: each gets what its longest word needs, and the rest
// goes where texts are longer.
func tableWidths(t Table, width, size, pad float64) []float64 {
	least, want := make([]float64, len(t.Columns)), make([]float64, len(t.Columns))
	measure := func(i int, text string, bold bool) {
		want[i] = max(want[i], textWidth(text, size, bold)+pad)
		for _, word := range strings.Fields(text) {
			least[i] = max(least[i], textWidth(word, size, bold)+pad)
		}
	}
	for i, c := range t.Columns {
		measure(i, c.Title+"*", true)
		for _, row := range t.Rows {
			measure(i, row[i].String(), true)
		}
	}
	sum := func(all []float64) (s float64) {
		for _, v := range all {
			s += v
		}
		return s
	}
	base, full := sum(least), sum(want)
	switch {
	case full <= width:
		return want
	case base >= width:
		for i := range least {
			least[i] *= width / base
		}
		return least
	}
	for i := range least {
		least[i] += (want[i] - least[i]) * (width - base) / (full - base)
	}
	return least
}

func (d pdf) lines(cell Text, width, size, pad float64) []string {
	d.font(size, len(cell) == 1 && cell[0].Bold)
	return d.SplitText(printable(cell.String()), width-2*pad)
}

func (d pdf) rowHeight(row []Text, widths []float64, size, line, pad float64) float64 {
	most := 1
	for i, cell := range row {
		most = max(most, len(d.lines(cell, widths[i], size, pad)))
	}
	return float64(most)*line + pad
}

func (d pdf) row(t Table, row []Text, widths []float64, size, line, pad float64) {
	height := d.rowHeight(row, widths, size, line, pad)
	x, y := float64(margin), d.GetY()
	d.SetDrawColor(180, 180, 190)
	d.SetLineWidth(0.5)
	d.SetDashPattern(nil, 0)
	for i, cell := range row {
		d.Rect(x, y, widths[i], height, "D")
		for k, s := range d.lines(cell, widths[i], size, pad) {
			at := x + pad
			if t.Columns[i].Number {
				at = x + widths[i] - pad - d.GetStringWidth(s)
			}
			d.Text(at, y+pad/2+float64(k)*line+size, s)
		}
		x += widths[i]
	}
	d.SetXY(margin, y+height)
}
