package example

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
)

const sampleRate = 16000

// formants are the resonances of five vowels, in Hz.
var formants = [][3]float64{{730, 1090, 2440}, {270, 2290, 3010}, {300, 870, 2240}, {530, 1840, 2480}, {570, 840, 2410}}

// resonator is a band-pass filter; one and two are its last two outputs.
type resonator struct{ one, two float64 }

func (r *resonator) next(x, frequency, width float64) float64 {
	q := math.Exp(-math.Pi * width / sampleRate)
	y := x*(1-q) + 2*q*math.Cos(2*math.Pi*frequency/sampleRate)*r.one - q*q*r.two
	r.one, r.two = y, r.one
	return y
}

// vowels returns a synthetic voice: pulses of a varying pitch through three resonators
// that move from vowel to vowel.
func vowels(seconds float64) []float64 {
	var filters [3]resonator
	samples, phase := make([]float64, int(seconds*sampleRate)), 0.0
	for i := range samples {
		at := float64(i) / sampleRate
		phase += (120 + 20*math.Sin(2*math.Pi*2.3*at)) / sampleRate
		y := 0.0
		if phase >= 1 {
			phase--
			y = 1
		}
		vowel, part := math.Modf(at * 5)
		from, to := formants[int(vowel)%len(formants)], formants[(int(vowel)+1)%len(formants)]
		for k := range filters {
			y = filters[k].next(y, from[k]*(1-part)+to[k]*part, float64(60+30*k))
		}
		samples[i] = y * (0.5 + 0.5*math.Sin(2*math.Pi*4*at))
	}
	return samples
}

// voiceSample returns a WAV file: a second of silence, a voice, a second of silence.
func voiceSample() []byte {
	sound := vowels(1.5)
	peak := 0.0
	for _, v := range sound {
		peak = max(peak, math.Abs(v))
	}
	silence := make([]byte, 2*sampleRate)
	data := bytes.Clone(silence)
	for _, v := range sound {
		data = binary.LittleEndian.AppendUint16(data, uint16(int16(v/peak*0.5*math.MaxInt16)))
	}
	data = append(data, silence...)

	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(36+len(data)))...)
	b = append(b, "WAVEfmt "...)
	for _, v := range []uint32{16, 1 | 1<<16, sampleRate, 2 * sampleRate, 2 | 16<<16} { // PCM, one channel, 16 bits
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, "data"...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
}

type point struct{ x, y float64 }

// arc is part of an ellipse, from one angle to another in degrees.
func arc(x, y, width, height, from, to float64) []point {
	const parts = 16
	points := make([]point, parts+1)
	for i := range points {
		a := (from + (to-from)*float64(i)/parts) * math.Pi / 180
		points[i] = point{x + width*math.Cos(a), y + height*math.Sin(a)}
	}
	return points
}

func stroke(parts ...[]point) []point {
	var all []point
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// letters holds the strokes of each letter on a grid of 4 by 6.
var letters = map[rune][][]point{
	' ': {},
	'A': {{{0, 6}, {2, 0}, {4, 6}}, {{0.7, 4}, {3.3, 4}}},
	'D': {stroke([]point{{0, 0}, {0, 6}, {1.5, 6}}, arc(1.5, 3, 2.5, 3, 90, -90), []point{{0, 0}})},
	'E': {{{4, 0}, {0, 0}, {0, 6}, {4, 6}}, {{0, 3}, {3, 3}}},
	'I': {{{1, 0}, {1, 6}}},
	'L': {{{0, 0}, {0, 6}, {3.6, 6}}},
	'M': {{{0, 6}, {0, 0}, {2.2, 4}, {4.4, 0}, {4.4, 6}}},
	'N': {{{0, 6}, {0, 0}, {4, 6}, {4, 0}}},
	'O': {arc(2, 3, 2, 3, 0, 180), arc(2, 3, 2, 3, 180, 360)},
	'P': {stroke([]point{{0, 6}, {0, 0}, {2.5, 0}}, arc(2.5, 1.6, 1.5, 1.6, -90, 90), []point{{0, 3.2}})},
	'R': {stroke([]point{{0, 6}, {0, 0}, {2.5, 0}}, arc(2.5, 1.5, 1.5, 1.5, -90, 90), []point{{0, 3}}), {{2, 3}, {4, 6}}},
	'S': {stroke(arc(2, 1.5, 1.8, 1.5, -30, -270), arc(2, 4.5, 1.9, 1.5, -90, 150))},
	'T': {{{0, 0}, {4, 0}}, {{2, 0}, {2, 6}}},
	'V': {{{0, 0}, {2, 6}, {4, 0}}},
	'X': {{{0, 0}, {4, 6}}, {{4, 0}, {0, 6}}},
	'2': {stroke(arc(2, 1.8, 1.8, 1.8, -170, 30), []point{{0, 6}, {4, 6}})},
	'4': {{{3, 6}, {3, 0}, {0, 4}, {4, 4}}},
}

// pen writes text with strokes of a thickness. unit is the size of the grid of letters.
type pen struct{ unit, thick float64 }

// strokes returns the strokes of a text from its upper left corner, and its right end.
func (p pen) strokes(text string, x, y float64) (all [][2]point, end float64) {
	for _, letter := range text {
		width := 1.2
		if letter == ' ' {
			width = 0.4
		}
		for _, points := range letters[letter] {
			for i, b := range points {
				width = max(width, b.x)
				if i > 0 {
					a := points[i-1]
					all = append(all, [2]point{{x + a.x*p.unit, y + a.y*p.unit}, {x + b.x*p.unit, y + b.y*p.unit}})
				}
			}
		}
		x += (width + 1.8) * p.unit
	}
	return all, x
}

// draw puts strokes on a picture, dark on bright.
func (p pen) draw(picture *image.Gray, strokes [][2]point) {
	for _, s := range strokes {
		from := point{min(s[0].x, s[1].x) - p.thick - 1, min(s[0].y, s[1].y) - p.thick - 1}
		to := point{max(s[0].x, s[1].x) + p.thick + 2, max(s[0].y, s[1].y) + p.thick + 2}
		touched := image.Rect(int(from.x), int(from.y), int(to.x), int(to.y)).Intersect(picture.Rect)
		for y := touched.Min.Y; y < touched.Max.Y; y++ {
			for x := touched.Min.X; x < touched.Max.X; x++ {
				gap := distance(point{float64(x), float64(y)}, s[0], s[1]) - p.thick
				shade := uint8(min(max((gap+0.5)*255, 0), 255))
				picture.SetGray(x, y, color.Gray{min(shade, picture.GrayAt(x, y).Y)})
			}
		}
	}
}

// blank returns a bright picture.
func blank(width, height int) *image.Gray {
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = 255
	}
	return picture
}

// textImage returns a PGM file: a picture of one line of text.
func textImage(text string) []byte {
	const height = 48
	p := pen{unit: 5, thick: 2}
	strokes, end := p.strokes(text, 14, 9)
	picture := blank(int(end)+10, height)
	p.draw(picture, strokes)
	return append(fmt.Appendf(nil, "P5\n%d %d\n255\n", picture.Rect.Dx(), height), picture.Pix...)
}

// pageLines are what page writes, from the upper left corner of each line.
var pageLines = []struct {
	text string
	x, y float64
	pen  pen
}{
	{"TRITON", 60, 40, pen{unit: 11, thick: 4}},
	{"SAMPLE 42", 500, 60, pen{unit: 5, thick: 1.8}},
	{"READS TEXT", 60, 150, pen{unit: 7, thick: 2.6}},
	{"IN 2 STEPS", 60, 230, pen{unit: 7, thick: 2.6}},
}

// page returns a PNG file: a picture of lines of text in several sizes and places.
func page() ([]byte, error) {
	picture := blank(760, 320)
	for _, l := range pageLines {
		strokes, _ := l.pen.strokes(l.text, l.x, l.y)
		l.pen.draw(picture, strokes)
	}
	var b bytes.Buffer
	err := png.Encode(&b, picture)
	return b.Bytes(), err
}

// distance returns the distance of p from the line segment between a and b.
func distance(p, a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = min(max(((p.x-a.x)*dx+(p.y-a.y)*dy)/length, 0), 1)
	}
	return math.Hypot(p.x-a.x-along*dx, p.y-a.y-along*dy)
}
