// Package page is the form of analysis reports: headings, paragraphs, lists, tables and charts, written as HTML,
// PDF, CSV and text, and charts alone as PNG and SVG. It knows nothing of models, metrics and what a report says.
package page

import (
	"strings"
)

// Page is a report.
type Page struct {
	Title    string
	Subtitle string
	Program  string // that wrote it, with its version
	Blocks   []Block
}

// Block is one of Heading, Paragraph, ChartText, Code, List, Charts and Table.
type Block interface{ block() }

// Heading begins a part of a report.
type Heading string

// Paragraph is a text; parts of it may be bold.
type Paragraph Text

// ChartText is a paragraph about charts. Forms without charts leave it out.
type ChartText string

// Code is lines that are shown as they are, such as those of a configuration.
type Code []string

// List is a list with a bullet for each text.
type List []Text

// Text is a sequence of words, some of them bold.
type Text []Span

// Span is a piece of text.
type Span struct {
	Text string
	Bold bool
}

// Charts are shown beside one another where there is room.
type Charts []Figure

// Figure is a chart with a caption.
type Figure struct {
	Chart
	Caption string
}

// Table is a table with a caption.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Text
}

// Column is the head of a column.
type Column struct {
	Title string
	// Number columns are aligned on the right.
	Number bool
	// Own columns are those that Model Analyzer does not have.
	Own bool
}

func (Heading) block()   {}
func (Paragraph) block() {}
func (ChartText) block() {}
func (Code) block()      {}
func (List) block()      {}
func (Charts) block()    {}
func (Table) block()     {}

// Plain returns a text without bold words.
func Plain(s string) Text { return Text{{Text: s}} }

// Mixed returns a text in which every second piece is bold, beginning with the second.
func Mixed(pieces ...string) Text {
	var t Text
	for i, s := range pieces {
		if s != "" {
			t = append(t, Span{s, i%2 == 1})
		}
	}
	return t
}

func (t Text) String() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.Text)
	}
	return b.String()
}
