package report

import (
	"fmt"
	"io"
	"strings"

	"triton/analyzer/profile"
	"triton/analyzer/report/page"
)

// Write writes the result of a profile in one file: as text, json, csv, markdown or html. The text
// forms have the summaries of all models, CSV has the table of all measurements.
func Write(w io.Writer, r *profile.Report, p ProfileOptions, form string) error {
	o := newOutcome(r, p.AlwaysGPU)
	switch form {
	case "json":
		return writeJSON(w, o)
	case "csv":
		return inferenceTable(o, p.Output.InferenceFields).WriteCSV(w)
	}
	whole := pageOfAll(o, p)
	switch form {
	case "text":
		return whole.WriteText(w)
	case "markdown":
		return whole.WriteMarkdown(w)
	case "html":
		return whole.WriteHTML(w)
	}
	return fmt.Errorf("a profile has no form %q", form)
}

// pageOfAll joins the summaries of all models in one page.
func pageOfAll(o *outcome, p ProfileOptions) *page.Page {
	var pages []*page.Page
	for i := range o.Models {
		s := newSummary(o, &o.Models[i], p.summary(p.Output.ConfigsPerModel))
		if s.Page != nil {
			pages = append(pages, s.Page)
		}
	}
	if len(pages) == 1 {
		return pages[0]
	}
	whole := &page.Page{Title: "Result Summary", Program: o.Report.Tool}
	var names []string
	for _, one := range pages {
		names = append(names, strings.TrimPrefix(one.Subtitle, "Model: "))
		whole.Blocks = append(append(whole.Blocks, page.Heading(one.Subtitle)), one.Blocks...)
	}
	whole.Subtitle = "Models: " + strings.Join(names, ", ")
	if len(names) == 0 {
		whole.Subtitle = ""
		whole.Blocks = []page.Block{page.Paragraph(page.Plain("Nothing was measured."))}
	}
	return whole
}
