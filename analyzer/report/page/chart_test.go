package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	stdcolor "image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

func lines() *Lines {
	return &Lines{
		Title: "Throughput vs. Latency", X: "p99 Latency (ms)", Y: "Throughput (infer/sec)",
		Series: []Series{
			{Name: "resnet_config_3", Points: Monotonic([]Point{
				{X: 12, Y: 900}, {X: 4, Y: 480}, {X: 6.5, Y: 700, Low: 660, High: 745}, {X: 20, Y: 850},
			})},
			{Name: "a_model_with_a_very_long_name_indeed_config_default", Points: Sorted([]Point{{X: 9, Y: 300}, {X: 5, Y: 250}})},
			{Name: "<b>&\"", Points: []Point{{X: 7, Y: 500, Note: "one & only"}}},
		},
		Targets: []Target{{Name: "Target p99 Latency", Value: 15, Vertical: true}, {Name: "Target Throughput", Value: 1e6}},
	}
}

func bars() *Bars {
	return &Bars{
		Title: "Online Performance", X: "Concurrent Client Requests", Y: "Avg Latency (ms)", Y2: "Throughput (infer/sec)",
		Parts: []string{"Queue (ms)", "Input (ms)", "Infer (ms)", "Output (ms)"}, LineName: "Inferences/second",
		Bars: []Bar{
			{"1", []float64{0.1, 0.2, 2, 0.1}, 416.6667},
			{"2", []float64{0.4, 0.2, 2.1, 0.1}, 714.2857},
			{"16", []float64{9, 0.3, 2.5, 0.1}, 1344},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, chart := range map[string]Chart{"lines.svg": lines(), "bars.svg": bars(), "empty.svg": &Lines{Title: "Empty", X: "x", Y: "y"}} {
		var b bytes.Buffer
		require.NoError(t, WriteSVG(&b, chart))
		wellFormed(t, b.Bytes())
		sharedtest.GoldenFile(t, name, b.String())
	}
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(t, err)
		}
	}
}

// TestInline: a page can hold several charts, and names are escaped.
func TestInline(t *testing.T) {
	t.Parallel()
	text := inlineSVG(lines(), "p7")
	wellFormed(t, []byte(text))
	require.Contains(t, text, `aria-labelledby="p7-title p7-desc"`)
	require.Contains(t, text, "&lt;b&gt;&amp;&#34;: 500 at 7; Target p99 Latency: 15; Target Throughput: 1000000.</desc>")
	require.NotContains(t, text, "<style>")
	require.NotContains(t, text, "<b>")
	require.Contains(t, text, "a_model_with_a_ver...config_default</text>", "the legend is cut")
	require.Contains(t, text, "a_model_with_a_very_long_name_indeed_config_default: 250 at 5", "the description is not")
	require.Contains(t, text, "Target Throughput (1000000, beyond the axis)")
}

func TestPoints(t *testing.T) {
	t.Parallel()
	points := []Point{{X: 3, Y: 5}, {X: 1, Y: 2}, {X: 2, Y: 2}, {X: 4, Y: 4}}
	require.Equal(t, []Point{{X: 1, Y: 2}, {X: 2, Y: 2}, {X: 3, Y: 5}, {X: 4, Y: 4}}, Sorted(points))
	require.Equal(t, []Point{{X: 1, Y: 2}, {X: 3, Y: 5}}, Monotonic(points))
	require.Equal(t, Point{X: 3, Y: 5}, points[0], "the caller's points stay as they are")
	require.Empty(t, Monotonic(nil))
}

// TestShortName: names are cut as by Model Analyzer.
func TestShortName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"resnet_config_3":                              "resnet_config_3",
		"a_model_name_of_thirty_five_letters":          "a_model_name_of_thirty_five_letters",
		"a_model_name_of_thirty_five_letters_config_4": "a_model_name_of_thirty_f...config_4",
		"a_name_of_no_variant_that_is_much_too_long":   "a_name_of_no_variant_that_is_muc...",
		"x_config_" + strings.Repeat("1", 40):          "x_config_11111111111111111111111...",
	} {
		got := shortName(name)
		require.Equal(t, want, got)
		require.LessOrEqual(t, len(got), 35)
	}
}

// TestPNG reads colors back from the images: bars, lines and text are where they belong.
func TestPNG(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: draws a page in pixels")
	}
	paint := func(c Chart) image.Image {
		var b bytes.Buffer
		require.NoError(t, WritePNG(&b, c, 2))
		m, err := png.Decode(&b)
		require.NoError(t, err)
		return m
	}
	m := paint(bars())
	require.Equal(t, image.Rect(0, 0, 1800, 1200), m.Bounds())
	for hex, least := range map[stdcolor.RGBA]int{{0xe6, 0x9f, 0, 255}: 20000, {0x56, 0xb4, 0xe9, 255}: 1000, {0, 0x9e, 0x73, 255}: 20000, {0xf0, 0xe4, 0x42, 255}: 500, {0x1b, 0x1b, 0x1f, 255}: 3000, {255, 255, 255, 255}: 1000000} {
		require.Greater(t, count(m, m.Bounds(), hex), least, "%v", hex)
	}
	// The bar of 16 is the highest: its queue part reaches above the middle of the chart.
	require.Equal(t, stdcolor.RGBA{0xe6, 0x9f, 0, 255}, m.At(2*693, 2*500))
	require.Equal(t, stdcolor.RGBA{255, 255, 255, 255}, m.At(2*190, 2*450), "that of 1 does not")
	m = paint(lines())
	blue := stdcolor.RGBA{0x0b, 0x57, 0xd0, 255}
	require.Greater(t, count(m, image.Rect(152, 88, 1240, 740), blue), 1500)
	require.Zero(t, count(m, image.Rect(0, 0, 140, 1000), blue), "nothing is left of the axis")
	require.Greater(t, count(m, image.Rect(20, 200, 56, 700), stdcolor.RGBA{0x1b, 0x1b, 0x1f, 255}), 200, "the name of the Y axis is turned")
	paint(&Lines{Title: "日本", Series: []Series{{Name: "x", Points: []Point{{X: 1, Y: 1}}}}})
}

func count(m image.Image, in image.Rectangle, c stdcolor.Color) int {
	n := 0
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			if m.At(x, y) == c {
				n++
			}
		}
	}
	return n
}

func TestChartPDF(t *testing.T) {
	t.Parallel()
	f := fpdf.New("P", "pt", "A4", "")
	f.SetCompression(false)
	f.SetCreationDate(time.Unix(0, 0))
	addFonts(f)
	f.AddPage()
	require.InDelta(t, 300, drawPDF(f, bars(), 20, 20, 450), 1e-9)
	require.InDelta(t, 300, pdfHeight(bars(), 450), 1e-9)
	drawPDF(f, lines(), 20, 340, 450)
	var b bytes.Buffer
	require.NoError(t, f.Output(&b))
	for _, text := range []string{"Online Performance", "Concurrent Client Requests", "1344.00", "Throughput vs. Latency", "resnet_config_3"} {
		require.True(t, bytes.Contains(b.Bytes(), utf16Text(text)), text)
	}
	require.Contains(t, b.String(), "0.902 0.624 0.000 rg", "the color of the queue")
}

func utf16Text(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r>>8), byte(r))
	}
	return b
}

func TestText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Größe ? ?", printable("Größe 日 \U0001F600"))
	require.Greater(t, textWidth("wide", 12, true), textWidth("ill", 12, true))
	require.InDelta(t, 2*textWidth("abc", 12, false), textWidth("abc", 24, false), 1e-9)
	for v, want := range map[float64]string{0: "0", 0.12345: "0.1235", 12: "12", 1234.5: "1234", 1e9: "1000000000", math.Inf(1): "+Inf"} {
		require.Equal(t, want, Number(v))
	}
}
