package ui

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// painter keeps a frame of a few lines below what is printed. The cursor rests
// at the left of the frame's last line, so that a terminal's echo of ^C spoils
// nothing that is not drawn again.
type painter struct {
	out           io.Writer
	size          func() (width, height int)
	width, height int
	frame         []string // as it stands on the terminal
	hidden        bool     // the cursor
	err           error    // the first one
}

func newPainter(out io.Writer) *painter {
	return &painter{out: out, size: func() (int, int) { return terminalSize(out) }}
}

// terminalSize is the size of the terminal behind w; zeros where there is none.
func terminalSize(w io.Writer) (width, height int) {
	if f, ok := w.(*os.File); ok {
		width, height, _ = term.GetSize(int(f.Fd())) // zeros with an error
	}
	return width, height
}

// measure asks for the terminal's size and returns its width.
func (p *painter) measure() int {
	p.width, p.height = p.size()
	if p.width <= 0 || p.height <= 0 {
		p.width, p.height = 80, 24
	}
	return p.width
}

// draw replaces the frame.
func (p *painter) draw(frame string) {
	if frame == "" {
		p.paint(nil, nil)
		return
	}
	p.paint(nil, strings.Split(strings.TrimSuffix(frame, "\n"), "\n"))
}

// print puts lines above the frame.
func (p *painter) print(text string) { p.paint(strings.Split(text, "\n"), p.frame) }

// clear takes the frame away and shows the cursor again.
func (p *painter) clear() {
	p.paint(nil, nil)
	if p.hidden {
		p.write(ansi.ShowCursor)
	}
}

// paint writes lines and then the frame over the frame that stands there.
func (p *painter) paint(lines, frame []string) {
	p.measure()
	var b strings.Builder
	b.WriteByte('\r')
	if up := p.rows() - 1; up > 0 {
		b.WriteString(ansi.CursorUp(up))
	}
	for _, line := range lines {
		b.WriteString(line)
		if n := ansi.StringWidth(line); n == 0 || n%p.width != 0 { // else the cursor still is on the last column
			b.WriteString(ansi.EraseLineRight)
		}
		b.WriteString("\r\n")
	}
	if !p.hidden && len(frame) > 0 {
		b.WriteString(ansi.HideCursor)
		p.hidden = true
	}
	// A frame as high as the terminal would scroll it; a line as wide, wrap.
	frame = frame[max(0, len(frame)-max(1, p.height-1)):]
	p.frame = nil
	for i, line := range frame {
		if i > 0 {
			b.WriteString("\r\n")
		}
		line = ansi.Truncate(line, p.width-1, "")
		b.WriteString(line + ansi.EraseLineRight)
		p.frame = append(p.frame, line)
	}
	b.WriteString(ansi.EraseScreenBelow + "\r")
	p.write(b.String())
}

// rows is the number of rows that the frame takes now: a terminal that became
// narrower has wrapped it.
func (p *painter) rows() int {
	n := 0
	for _, line := range p.frame {
		n += 1 + max(0, ansi.StringWidth(line)-1)/p.width
	}
	return n
}

func (p *painter) write(text string) {
	if _, err := io.WriteString(p.out, text); err != nil && p.err == nil {
		p.err = err
	}
}
