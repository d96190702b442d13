package page

import (
	"io"
	"time"
)

// WritePlainPDF writes a PDF file whose texts tests can read.
func (p *Page) WritePlainPDF(w io.Writer, created time.Time) error {
	f := p.layout(created)
	f.SetCompression(false)
	return f.Output(w)
}
