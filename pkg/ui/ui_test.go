package ui_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/sharedtest"
	"triton/pkg/ui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := ui.Table(&out, []ui.Column{{Title: "Model"}, {Title: "Infer/s", Align: ui.Right}, {Title: "p99 us", Align: ui.Right}},
		[][]string{{"resnet50", "12.5", "81000"}, {"a", "1000.0", "9"}})
	require.NoError(t, err)
	require.Equal(t, `┌──────────┬─────────┬────────┐
│ Model    │ Infer/s │ p99 us │
├──────────┼─────────┼────────┤
│ resnet50 │    12.5 │  81000 │
│ a        │  1000.0 │      9 │
└──────────┴─────────┴────────┘
`, out.String())
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	require.Equal(t, "▁▅█", ui.Sparkline([]float64{9, 0, 4, 8}[1:], 10))
	require.Equal(t, "▅█", ui.Sparkline([]float64{9, 0, 4, 8}, 2), "the last ones")
	require.Equal(t, "▁▁", ui.Sparkline([]float64{0, 0}, 5))
	require.Empty(t, ui.Sparkline(nil, 5))
	require.Equal(t, "▃▅", ui.SparklineTo([]float64{4, 8}, 2, 16))
	require.Equal(t, "▁ █", ui.SparklineTo([]float64{-1, math.NaN(), 9}, 3, 8), "a gap, and a value above the scale")
	require.Empty(t, ui.SparklineTo([]float64{1}, -1, 1))
}

func TestTop(t *testing.T) {
	t.Parallel()
	for highest, want := range map[float64]float64{0.0011: 0.0015, 1: 1, 1.2: 1.5, 7: 8, 9: 10, 940: 1000, 1000: 1000, 1001: 1500, 61e6: 80e6} {
		require.InEpsilon(t, want, ui.Top([]float64{math.NaN(), highest, highest / 3, math.Inf(1)}, 10), 1e-9)
	}
	require.Zero(t, ui.Top([]float64{5, 0}, 1))
	require.Zero(t, ui.Top([]float64{math.NaN()}, 1))
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 us", 1: "0.00 us", 850: "0.85 us", 9870: "9.87 us", 9996: "10.0 us", 12340: "12.3 us", 999_400: "999 us", 999_500: "1.00 ms",
		1_214_000: "1.21 ms", 101_813_000: "102 ms", 999_400_000: "999 ms", 999_500_000: "1.00 s", 12_340_000_000: "12.3 s",
		100 * time.Second: "1m40s", -time.Millisecond: "-1.00 ms",
	} {
		require.Equal(t, want, ui.Duration(d))
	}
	for d, want := range map[time.Duration]string{0: "0s", 1499 * time.Millisecond: "1s", 59600 * time.Millisecond: "1m0s", 130 * time.Second: "2m10s", 3900 * time.Second: "1h5m"} {
		require.Equal(t, want, ui.Clock(d))
	}
	for v, want := range map[float64]string{0: "0.00", 0.126: "0.13", 9.7: "9.70", 97.34: "97.34", 99.996: "100.0", 123.46: "123.5", 999.96: "1000", 1930.6: "1931", 1234567.8: "1234568"} {
		require.Equal(t, want, ui.Number(v))
	}
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "0.98 KiB", 1 << 20: "1.00 MiB", 1.6e10: "14.9 GiB", 1 << 50: "1024 TiB"} {
		require.Equal(t, want, ui.Bytes(n))
	}
}

func TestRow(t *testing.T) {
	t.Parallel()
	parts := []ui.Part{{Text: "level 3"}, {Text: "batch 1", Spare: 1}, {Text: "", Spare: 9}, {Text: "12 windows", Spare: 2}, {Text: ui.Strong("42s"), Spare: 1}}
	row := func(width int) string { return ansi.Strip(ui.Row(width, parts...)) }
	require.Equal(t, "level 3  batch 1  12 windows  42s", row(33))
	require.Equal(t, "level 3  batch 1  42s", row(32))
	require.Equal(t, "level 3  batch 1", row(20), "of equal parts the last one goes first")
	require.Equal(t, "level 3", row(15))
	require.Equal(t, "leve…", row(5))
	require.Empty(t, row(0))
}

func TestView(t *testing.T) {
	t.Parallel()
	parts := []ui.Part{{Text: "a"}, {Text: "b", Spare: 2}, {}, {Text: "c", Spare: 1}, {Text: "d"}}
	for rows, want := range map[int]string{9: "a\nb\nc\nd", 3: "a\nc\nd", 2: "a\nd", 1: "a", 0: ""} {
		require.Equal(t, want, ui.View(rows, parts...))
	}
	require.Equal(t, "b", parts[1].Text, "the argument is not changed")
}

func TestPalette(t *testing.T) {
	t.Parallel()
	require.Equal(t, "slow", ui.Palette{}.Warn("slow"))
	for _, s := range []string{ui.Palette{Color: true}.Good("slow"), ui.Palette{Color: true}.Warn("slow"), ui.Palette{Color: true}.Bad("slow")} {
		require.NotEqual(t, "slow", s)
		require.Equal(t, "slow", ansi.Strip(s))
	}
}

func document() ui.Document {
	return ui.Document{
		Title:   "m: <b>_1_",
		Columns: []ui.Column{{Title: "Model"}, {Title: "Infer/s", Align: ui.Right}, {Title: "Note"}},
		Rows:    [][]string{{"a|b", "12.5", "one\ntwo"}, {"ü", "1000.0", "<script>x</script>"}},
		Notes:   []string{"`x` is [not] a link"},
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, ui.WriteMarkdown(&out, document()))
	require.Equal(t, `# m: &lt;b>\_1\_

| Model | Infer/s | Note                     |
| ----- | ------: | ------------------------ |
| a\|b  |    12.5 | one<br>two               |
| ü     |  1000.0 | &lt;script>x&lt;/script> |

- \`+"`x\\`"+` is \[not] a link
`, out.String())
	out.Reset()
	require.NoError(t, ui.WriteMarkdown(&out, ui.Document{Title: "nothing"}))
	require.Equal(t, "# nothing\n", out.String())
}

func TestHTML(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, ui.WriteHTML(&out, document()))
	text := out.String()
	for _, want := range []string{
		"<title>m: &lt;b&gt;_1_</title>", `<th scope="col">Model</th><th scope="col" class="right">Infer/s</th>`,
		`<td>a|b</td><td class="right">12.5</td><td>one`, "&lt;script&gt;x&lt;/script&gt;", "<li>`x` is [not] a link</li>",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "http", "the page needs no other file")
	out.Reset()
	require.NoError(t, ui.WriteHTML(&out, ui.Document{Title: "nothing"}))
	require.NotContains(t, out.String(), "<table")
}

func TestBar(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{0: "░░░░", 0.5: "██░░", 1: "████", 7: "████", -1: "░░░░"} {
		require.Equal(t, want, ui.Bar(share, 4))
	}
}

func TestLivePrintsInOrderAndEnds(t *testing.T) {
	var out sharedtest.LogBuffer
	drawn := make(chan struct{}, 1000)
	l := ui.StartLive(&out, time.Millisecond, func(int, int) string {
		select {
		case drawn <- struct{}{}:
		default:
		}
		return "busy"
	})
	<-drawn
	for _, line := range []string{"first", "second\n", "third\n"} {
		l.Print(line)
	}
	require.NoError(t, l.Stop())
	text := out.String()
	first, second, third := strings.Index(text, "first"), strings.Index(text, "second"), strings.Index(text, "third")
	require.True(t, 0 <= first && first < second && second < third, "%q", text)
}
