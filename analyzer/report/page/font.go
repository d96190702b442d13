package page

import (
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// unit is the size at which outlines are read.
const unit = 1024

// typeface reads the outlines of a font. A buffer of package sfnt serves one goroutine at a time.
type typeface struct {
	mu   sync.Mutex
	font *sfnt.Font
	buf  sfnt.Buffer
}

var (
	regular = sync.OnceValue(func() *typeface { return parse(regularTTF()) })
	bold    = sync.OnceValue(func() *typeface { return parse(boldTTF()) })
)

func parse(data []byte) *typeface {
	f, err := sfnt.Parse(data)
	if err != nil {
		panic(err) // the fonts are part of the program
	}
	return &typeface{font: f}
}

func face(isBold bool) *typeface {
	if isBold {
		return bold()
	}
	return regular()
}

// index returns the glyph of a character; that of "?" if the font has none.
func (t *typeface) index(r rune) sfnt.GlyphIndex {
	i, err := t.font.GlyphIndex(&t.buf, r)
	if err != nil || i == 0 {
		i, _ = t.font.GlyphIndex(&t.buf, '?')
	}
	return i
}

// advance returns the width of a glyph at size unit.
func (t *typeface) advance(i sfnt.GlyphIndex) float64 {
	a, err := t.font.GlyphAdvance(&t.buf, i, fixed.I(unit), font.HintingNone)
	if err != nil {
		return unit / 2
	}
	return float64(a) / 64
}

// textWidth returns the width of a text in the font of images and PDF files; that of a browser's font
// is close to it.
func textWidth(s string, size float64, isBold bool) float64 {
	t := face(isBold)
	t.mu.Lock()
	defer t.mu.Unlock()
	w := 0.0
	for _, r := range s {
		w += t.advance(t.index(r))
	}
	return w * size / unit
}

// printable replaces characters that the font of images and PDF files lacks by question marks.
func printable(s string) string {
	t := regular()
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Map(func(r rune) rune {
		if i, err := t.font.GlyphIndex(&t.buf, r); err != nil || i == 0 || r > 0xffff {
			return '?'
		}
		return r
	}, s)
}

// glyph calls the functions with the outline of a glyph at size unit, with y downwards, and
// returns its width.
func (t *typeface) glyph(r rune, move, line func(p point), quad func(c, p point), cube func(c, d, p point)) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.index(r)
	segments, err := t.font.LoadGlyph(&t.buf, i, fixed.I(unit), nil)
	if err != nil {
		return t.advance(i)
	}
	at := func(p fixed.Point26_6) point { return point{float64(p.X) / 64, float64(p.Y) / 64} }
	for _, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			move(at(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			line(at(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			quad(at(s.Args[0]), at(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			cube(at(s.Args[0]), at(s.Args[1]), at(s.Args[2]))
		}
	}
	return t.advance(i)
}
