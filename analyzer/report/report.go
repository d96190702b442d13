// Package report writes what a profile leaves in its export folder: tables, summaries, detailed
// reports and plots, at the paths of Model Analyzer.
package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"triton/analyzer/profile"
	"triton/analyzer/report/page"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// Formats are the forms of reports. HTML is always written.
var Formats = []string{"pdf", "csv", "png", "svg", "json", "html"}

// Options say what to write.
type Options struct {
	Mode    string // settings.Online or settings.Offline
	Path    string // the export folder; it is created
	Formats []string
	// AlwaysGPU writes metrics of devices also for models that use none.
	AlwaysGPU bool
	// Console is where the tables go too; nil for nowhere.
	Console io.Writer
	// Log gets a line for each file and each warning.
	Log func(line string, warning bool)
}

// ProfileOptions is what Options say, and what counts for a profile only.
type ProfileOptions struct {
	Options
	Output settings.Output
	// Across is the goal by which variants of different models are compared.
	Across trial.Goal
	// ObjectivesSet: the user has set what to optimize.
	ObjectivesSet bool
	// ReportCommand is the command line that writes detailed reports, without their names.
	ReportCommand string
}

// WriteProfile writes the results of `triton analyze profile`.
func WriteProfile(r *profile.Report, p ProfileOptions) error {
	w := writer{p.Options}
	o := newOutcome(r, p.AlwaysGPU)
	if err := w.tables(o, p.Output); err != nil {
		return err
	}
	if p.wants("json") {
		if err := w.file(filepath.Join("results", "profile.json"), "results", func(f io.Writer) error { return writeJSON(f, o) }); err != nil {
			return err
		}
	}
	if !p.Output.SkipSummary {
		if err := w.summaries(o, p); err != nil {
			return err
		}
	}
	return w.details(o, p)
}

func (w writer) summaries(o *outcome, p ProfileOptions) error {
	for i := range o.Models {
		if err := w.summary(o, &o.Models[i], p, p.Output.ConfigsPerModel); err != nil {
			return err
		}
	}
	if p.Output.TopConfigs == 0 || len(o.Models) == 0 {
		return nil
	}
	across := o.Across(p.Across)
	return w.summary(o, &across, p, p.Output.TopConfigs)
}

// summary returns the options of a summary of the best variants.
func (p ProfileOptions) summary(top int) summaryOptions {
	plots := p.Output.Plots
	if len(plots) == 0 {
		plots = settings.SummaryPlots(p.Mode)
	}
	return summaryOptions{Mode: p.Mode, Top: top, Plots: plots, ObjectivesSet: p.ObjectivesSet}
}

// details writes the detailed reports of the best variants, or says how to get them.
func (w writer) details(o *outcome, p ProfileOptions) error {
	for i := range o.Models {
		m := &o.Models[i]
		if len(m.Variants) == 0 {
			continue
		}
		top, _ := m.Top(p.Output.ConfigsPerModel)
		top = top[:min(len(top), p.Output.ConfigsPerModel)]
		names := make([]string, len(top))
		for k, v := range top {
			names[k] = v.Name
		}
		if p.Output.SkipDetailed {
			w.Log(fmt.Sprintf("To generate detailed reports for the %d best configurations, run `%s --report-model-configs %s`",
				len(names), p.ReportCommand, strings.Join(names, ",")), false)
			continue
		}
		w.Log(fmt.Sprintf("Generating detailed reports for the best configurations %s:", strings.Join(names, ",")), false)
		for _, v := range top {
			if err := w.detail(o, m, v, settings.DetailPlots(p.Mode)); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteDetails writes the results of `triton analyze report`: the detailed reports of variants by
// name. An error names those that were not measured; the others are written all the same.
func WriteDetails(r *profile.Report, configs []settings.ReportConfig, opts Options) error {
	w := writer{opts}
	o := newOutcome(r, opts.AlwaysGPU)
	var unknown []string
	for _, c := range configs {
		m, v, ok := o.Find(c.Name)
		if !ok {
			unknown = append(unknown, c.Name)
			continue
		}
		plots := c.Plots
		if len(plots) == 0 {
			plots = settings.DetailPlots(opts.Mode)
		}
		if err := w.detail(o, m, v, plots); err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("the checkpoint has no measurement of %s; it has %s", strings.Join(unknown, ", "), measuredNames(o))
	}
	return nil
}

// measuredNames lists the variants that were measured.
func measuredNames(o *outcome) string {
	var all []string
	for _, m := range o.Models {
		for _, v := range m.Variants {
			all = append(all, v.Name)
		}
	}
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// writer writes below the export folder.
type writer struct{ Options }

func (o Options) wants(format string) bool { return slices.Contains(o.Formats, format) }

// tables writes the three tables, those without rows excepted, and prints them.
func (w writer) tables(o *outcome, out settings.Output) error {
	server, inference, gpu := serverTable(o, out.ServerFields), inferenceTable(o, out.InferenceFields), gpuTable(o, out.GPUFields)
	for _, t := range []struct {
		*resultTable
		file, kind string
	}{{server, out.FilenameServerOnly, "server only"}, {inference, out.FilenameInference, "inference"}, {gpu, out.FilenameGPU, "GPU"}} {
		if len(t.Rows) == 0 {
			continue
		}
		if err := w.file(filepath.Join("results", t.file), t.kind+" metrics", t.WriteCSV); err != nil {
			return err
		}
	}
	for _, t := range []*resultTable{inference, gpu, server} {
		// Without devices the missing columns of the defaults are no news.
		if len(t.Rows) > 0 || len(o.Report.GPUs) > 0 {
			for _, warning := range t.Warnings {
				w.Log(warning, true)
			}
		}
		if w.Console != nil {
			if err := t.WriteText(w.Console); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w writer) summary(o *outcome, m *modelOutcome, p ProfileOptions, top int) error {
	s := newSummary(o, m, p.summary(top))
	for _, warning := range s.Warnings {
		w.Log(warning, true)
	}
	if s.Page == nil {
		return nil
	}
	for _, n := range s.Plots {
		if err := w.plot(filepath.Join("plots", "simple", folder(m.Name)), n); err != nil {
			return err
		}
	}
	return w.page(filepath.Join("reports", "summaries", folder(m.Name), "result_summary"), "Summary Report", o, s.Page)
}

func (w writer) detail(o *outcome, m *modelOutcome, v variantOutcome, plots []settings.Plot) error {
	d := newDetail(o, m, v, w.Mode, plots)
	for _, n := range d.Plots {
		if err := w.plot(filepath.Join("plots", "simple", folder(v.Name)), n); err != nil {
			return err
		}
	}
	if d.Breakdown != nil {
		if err := w.plot(filepath.Join("plots", "detailed", folder(v.Name)), *d.Breakdown); err != nil {
			return err
		}
	}
	name := filepath.Join("reports", "detailed", folder(v.Name), "detailed_report")
	if w.wants("json") {
		if err := w.file(name+".json", "Detailed Report", func(f io.Writer) error { return writeDetailJSON(f, o, m, v) }); err != nil {
			return err
		}
	}
	return w.page(name, "Detailed Report", o, d.Page)
}

// page writes a report as HTML, and in the other forms that the user wants.
func (w writer) page(name, kind string, o *outcome, p *page.Page) error {
	if err := w.file(name+".html", kind, p.WriteHTML); err != nil {
		return err
	}
	if w.wants("pdf") {
		if err := w.file(name+".pdf", kind, func(f io.Writer) error { return p.WritePDF(f, o.Report.Started) }); err != nil {
			return err
		}
	}
	if w.wants("csv") {
		return w.file(name+".csv", kind, p.WriteCSV)
	}
	return nil
}

// pixelsPerUnit makes images sharp on screens of today.
const pixelsPerUnit = 2

func (w writer) plot(dir string, n namedChart) error {
	name := filepath.Join(dir, folder(n.Name))
	if w.wants("png") {
		if err := w.file(name+".png", "", func(f io.Writer) error { return page.WritePNG(f, n.Chart, pixelsPerUnit) }); err != nil {
			return err
		}
	}
	if w.wants("svg") {
		return w.file(name+".svg", "", func(f io.Writer) error { return page.WriteSVG(f, n.Chart) })
	}
	return nil
}
