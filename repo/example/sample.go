package example

import (
	"bytes"
	"encoding/binary"
	"fmt"
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
	'E': {{{4, 0}, {0, 0}, {0, 6}, {4, 6}}, {{0, 3}, {3, 3}}},
	'I': {{{1, 0}, {1, 6}}},
	'N': {{{0, 6}, {0, 0}, {4, 6}, {4, 0}}},
	'O': {arc(2, 3, 2, 3, 0, 180), arc(2, 3, 2, 3, 180, 360)},
	'R': {stroke([]point{{0, 6}, {0, 0}, {2.5, 0}}, arc(2.5, 1.5, 1.5, 1.5, -90, 90), []point{{0, 3}}), {{2, 3}, {4, 6}}},
	'S': {stroke(arc(2, 1.5, 1.8, 1.5, -30, -270), arc(2, 4.5, 1.9, 1.5, -90, 150))},
	'T': {{{0, 0}, {4, 0}}, {{2, 0}, {2, 6}}},
	'V': {{{0, 0}, {2, 6}, {4, 0}}},
	'2': {stroke(arc(2, 1.8, 1.8, 1.8, -170, 30), []point{{0, 6}, {4, 6}})},
	'4': {{{3, 6}, {3, 0}, {0, 4}, {4, 4}}},
}

// textImage returns a PGM file with text in the letters above, dark on a bright background.
func textImage(text string) []byte {
	const unit, top, height, thick = 5.0, 9.0, 48, 2.0
	var lines [][2]point
	x := 14.0
	for _, letter := range text {
		width := 1.2
		for _, points := range letters[letter] {
			for i, p := range points {
				width = max(width, p.x)
				if i > 0 {
					q := points[i-1]
					lines = append(lines, [2]point{{x + q.x*unit, top + q.y*unit}, {x + p.x*unit, top + p.y*unit}})
				}
			}
		}
		x += (width + 1.8) * unit
	}
	width := int(x) + 10
	b := fmt.Appendf(nil, "P5\n%d %d\n255\n", width, height)
	for i := range width * height {
		p, near := point{float64(i % width), float64(i / width)}, math.Inf(1)
		for _, l := range lines {
			near = min(near, distance(p, l[0], l[1]))
		}
		b = append(b, byte(min(max((near-thick+0.5)*255, 0), 255)))
	}
	return b
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
