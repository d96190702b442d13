package page

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func example(rows int) *Page {
	chart := &Lines{Title: "Chart", X: "x", Y: "y", Series: []Series{{Name: "<s>", Points: []Point{{X: 1, Y: 2}, {X: 3, Y: 4}}}}}
	t := Table{Caption: "All <rows>", Columns: []Column{{Title: "Name"}, {Title: "Value & unit", Number: true}, {Title: "Own", Own: true}}}
	for i := range rows {
		t.Rows = append(t.Rows, []Text{Plain(fmt.Sprintf("row %d", i)), {{Text: "1.5", Bold: true}, {Text: " (1, 2)"}}, Plain("a,\"b\"")})
	}
	return &Page{Title: "Title <t>", Subtitle: "Sub", Program: "test 1", Blocks: []Block{
		Heading("Part"), Paragraph(Mixed("In 2, ", "best <b>", " is")),
		List{Plain("first"), Mixed("", "second", ": more")},
		ChartText("See below."),
		Charts{{Chart: chart, Caption: "One"}},
		Charts{{Chart: chart, Caption: "Left"}, {Chart: chart, Caption: "Right"}, {Chart: chart, Caption: "Below"}},
		t,
	}}
}

func TestHTML(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, example(2).WriteHTML(&b))
	text := b.String()
	for _, part := range []string{
		"<title>Title &lt;t&gt;: Sub</title>", "<h1>Title &lt;t&gt;</h1>", `<p class="program">Written by test 1.</p>`, "<h2>Part</h2>",
		"<p>In 2, <strong>best &lt;b&gt;</strong> is</p>", "<li><strong>second</strong>: more</li>", "<caption><span>All &lt;rows&gt;</span></caption>",
		`<th scope="col" class="number">Value &amp; unit</th>`, `<th scope="row">row 1</th><td class="number"><strong>1.5</strong> (1, 2)</td><td>a,&#34;b&#34;</td>`,
		`<abbr title="not in reports of Model Analyzer">*</abbr>`, "<figcaption>Left</figcaption>", `id="plot-5-2-title"`, "<p>See below.</p>",
	} {
		require.Contains(t, text, part)
	}
	require.Equal(t, 4, strings.Count(text, "<svg "))
	require.Equal(t, 1, strings.Count(text, `class="charts two"`))
	require.NotContains(t, text, "<s>")
}

func TestCSV(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, example(1).WriteCSV(&b))
	require.Equal(t, "Name,Value & unit,Own\nrow 0,\"1.5 (1, 2)\",\"a,\"\"b\"\"\"\n", b.String())
	b.Reset()
	require.NoError(t, (&Page{Title: "no table"}).WriteCSV(&b))
	require.Empty(t, b.String())
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, example(1).WriteMarkdown(&b))
	require.Equal(t, `# Title &lt;t>, Sub

## Part

In 2, **best &lt;b>** is

- first
- **second**: more

All &lt;rows>

| Name | Value & unit | Own\* |
| --- | ---: | --- |
| row 0 | **1.5** (1, 2) | a,"b" |
`, b.String())
}

// TestPDF looks at the texts that a file without compression has, and at its pages.
func TestPDF(t *testing.T) {
	t.Parallel()
	write := func(p *Page) string {
		var b bytes.Buffer
		require.NoError(t, writePlainPDF(p, &b, time.Unix(0, 0)))
		return b.String()
	}
	pages := func(s string) int { return len(regexp.MustCompile(`/Type /Page\b[^s]`).FindAllString(s, -1)) }
	text := write(example(2))
	for _, part := range []string{"Title <t>", "In 2, ", "best <b>", "second", "Left", "Below", "Value & unit", "row 1", "Own*"} {
		require.True(t, strings.Contains(text, utf16(part)), part)
	}
	require.LessOrEqual(t, pages(text), 3)
	long := write(example(300))
	require.GreaterOrEqual(t, pages(long), 7)
	require.Equal(t, pages(long)-pages(text)+1, strings.Count(long, utf16("Value & unit")), "each page of a table has its header")
	require.Equal(t, write(example(2)), text, "the same page is the same file")

	wide := example(0)
	table := Table{Caption: "wide"}
	for i := range 14 {
		table.Columns = append(table.Columns, Column{Title: fmt.Sprintf("A rather long title %d", i)})
	}
	table.Rows = [][]Text{make([]Text, 14)}
	for i := range 14 {
		table.Rows[0][i] = Plain(strings.Repeat("longword", i))
	}
	wide.Blocks = []Block{table}
	require.Contains(t, write(wide), "/MediaBox [0 0 841.89 595.28]", "a broad table is on a broad page")
}

// utf16 returns a text as PDF files have it, with escapes.
func utf16(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteByte(byte(r >> 8))
		if strings.ContainsRune(`()\`, r) {
			b.WriteByte('\\')
		}
		b.WriteByte(byte(r))
	}
	return b.String()
}

// writePlainPDF writes a PDF file whose texts tests can read.
func writePlainPDF(p *Page, w io.Writer, created time.Time) error {
	f := p.layout(created)
	f.SetCompression(false)
	return f.Output(w)
}
