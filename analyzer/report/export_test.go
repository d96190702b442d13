package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/profile"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/sharedtest"
)

func defaults(dir string) ProfileOptions {
	return ProfileOptions{
		Options: Options{Mode: settings.Online, Path: dir, Formats: Formats, Log: func(string, bool) {}},
		Output: settings.Output{
			FilenameInference: "metrics-model-inference.csv", FilenameGPU: "metrics-model-gpu.csv", FilenameServerOnly: "metrics-server-only.csv",
			InferenceFields: inferenceFields, GPUFields: gpuFields, ServerFields: serverFields, ConfigsPerModel: 3,
		},
	}
}

// files lists what is below a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			b.WriteString(filepath.ToSlash(name) + "\n")
		}
		return err
	}))
	return b.String()
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

// TestGolden keeps all outputs of each kind of model: names of files, tables, JSON, and the pages.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report *profile.Report
		change func(*ProfileOptions)
		page   string
	}{
		"single":   {single(), func(p *ProfileOptions) { p.Output.TopConfigs, p.ObjectivesSet = 2, true }, "summaries/resnet/result_summary"},
		"ensemble": {ensemble(false), nil, "summaries/top/result_summary"},
		"bls":      {ensemble(true), nil, "summaries/top/result_summary"},
		"llm":      {language(), func(p *ProfileOptions) { p.Output.InferenceFields = settings.NewProfile().Output.InferenceFields }, "detailed/llm_config_0/detailed_report"},
		"models":   {recordings[2].report(t), nil, "detailed/a_config_3,b_config_3/detailed_report"},
		"offline":  {single(), func(p *ProfileOptions) { p.Mode = settings.Offline }, "detailed/resnet_config_0/detailed_report"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := defaults(dir)
			if name != "single" {
				p.Formats = []string{"csv"} // images and PDF files take time
			}
			if c.change != nil {
				c.change(&p)
			}
			require.NoError(t, WriteProfile(c.report, p))
			sharedtest.GoldenFile(t, name+"/files.txt", files(t, dir))
			sharedtest.GoldenFile(t, name+"/inference.csv", read(t, dir, "results", "metrics-model-inference.csv"))
			sharedtest.GoldenFile(t, name+"/page.html", read(t, dir, "reports", c.page+".html"))
			sharedtest.GoldenFile(t, name+"/page.csv", read(t, dir, "reports", c.page+".csv"))
			if name == "single" {
				sharedtest.GoldenFile(t, name+"/profile.json", read(t, dir, "results", "profile.json"))
				sharedtest.GoldenFile(t, name+"/gpu.csv", read(t, dir, "results", "metrics-model-gpu.csv"))
				sharedtest.GoldenFile(t, name+"/detail.html", read(t, dir, "reports", "detailed/resnet_config_0/detailed_report.html"))
				sharedtest.GoldenFile(t, name+"/across.html", read(t, dir, "reports", "summaries", acrossName, "result_summary.html"))
			}
		})
	}
}

// TestPages: no page loads anything or runs scripts, and IDs are unique.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, WriteProfile(single(), defaults(dir)))
	for _, name := range strings.Fields(files(t, dir)) {
		text := read(t, dir, name)
		switch filepath.Ext(name) {
		case ".html":
			for _, forbidden := range []string{"<script", "src=", "href=", "@import", "url(", "<CUDA>"} {
				require.NotContains(t, text, forbidden, name)
			}
			require.Contains(t, text, `<html lang="en">`)
			require.Contains(t, html.UnescapeString(text), "default-src 'none'")
			seen := map[string]bool{}
			for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
				require.False(t, seen[id[1]], "%s has the ID %s twice", name, id[1])
				seen[id[1]] = true
			}
			require.NotEmpty(t, seen)
		case ".pdf":
			require.True(t, strings.HasPrefix(text, "%PDF-"), name)
			require.Contains(t, text[len(text)-10:], "%%EOF", name)
		case ".png":
			require.True(t, strings.HasPrefix(text, "\x89PNG"), name)
		}
	}
}

// TestFormats: only the forms that the user wants are written, HTML always.
func TestFormats(t *testing.T) {
	t.Parallel()
	extensions := func(formats ...string) []string {
		dir := t.TempDir()
		require.NoError(t, WriteDetails(single(), []settings.ReportConfig{{Name: "resnet_config_1"}}, Options{
			Mode: settings.Online, Path: dir, Formats: formats, Log: func(string, bool) {},
		}))
		found := map[string]bool{}
		for _, name := range strings.Fields(files(t, dir)) {
			found[filepath.Ext(name)] = true
		}
		var all []string
		for _, e := range []string{".csv", ".html", ".pdf", ".png", ".svg"} {
			if found[e] {
				all = append(all, e)
			}
		}
		return all
	}
	require.Equal(t, []string{".html"}, extensions())
	require.Equal(t, []string{".html", ".pdf"}, extensions("pdf"))
	require.Equal(t, []string{".csv", ".html", ".png"}, extensions("png", "csv", "html"))
	require.Equal(t, []string{".html", ".svg"}, extensions("svg"))
}

// TestDetails: an unknown name is an error, but the others are reported; plots of a variant are those
// that the user asks for.
func TestDetails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := WriteDetails(single(), []settings.ReportConfig{
		{Name: "nothing"},
		{Name: "resnet_config_default", Plots: []settings.Plot{{Name: "../up", Title: "RAM", XAxis: "batch_size", YAxis: trial.CPUUsedRAM}}},
	}, Options{Mode: settings.Online, Path: dir, Formats: []string{"svg"}, Log: func(string, bool) {}})
	require.EqualError(t, err, "the checkpoint has no measurement of nothing; it has resnet_config_0, resnet_config_1, resnet_config_default")
	require.Equal(t, "plots/detailed/resnet_config_default/latency_breakdown.svg\nplots/simple/resnet_config_default/.._up.svg\nreports/detailed/resnet_config_default/detailed_report.html\n", files(t, dir))
}

// TestSkip: summaries and detailed reports are skipped on their own; the tables are always written.
func TestSkip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := defaults(dir)
	var log []string
	p.Log = func(line string, _ bool) { log = append(log, line) }
	p.Output.SkipSummary, p.Output.SkipDetailed, p.ReportCommand, p.Formats = true, true, "triton analyze report -e out", nil
	require.NoError(t, WriteProfile(single(), p))
	require.Equal(t, "results/metrics-model-gpu.csv\nresults/metrics-model-inference.csv\nresults/metrics-server-only.csv\n", files(t, dir))
	require.Equal(t, "To generate detailed reports for the 3 best configurations, run "+
		"`triton analyze report -e out --report-model-configs resnet_config_0,resnet_config_1,resnet_config_default`", log[len(log)-1])
}

// TestNothingMeasured: failed trials are reported, and a model without any trial is a warning.
func TestNothingMeasured(t *testing.T) {
	t.Parallel()
	r := single()
	failed := r.Models[0].Results[12:]
	r.Models = []profile.ModelReport{
		{Name: "resnet", Members: r.Models[0].Members, Results: failed, Err: errors.New("the server did not start")},
		{Name: "other", Members: []profile.MemberReport{{Model: "other"}}},
	}
	dir := t.TempDir()
	p := defaults(dir)
	var warnings []string
	p.Log = func(line string, warning bool) {
		if warning {
			warnings = append(warnings, line)
		}
	}
	p.Output.TopConfigs = 1
	require.NoError(t, WriteProfile(r, p))
	require.Contains(t, warnings, "No data found for model resnet, skipping export summary.")
	require.Contains(t, warnings, "No data found for model other, skipping export summary.")
	text := read(t, dir, "reports", "summaries", "resnet", "result_summary.html")
	require.Contains(t, text, "&lt;CUDA&gt; out of memory &amp; more")
	require.Contains(t, text, "The search failed: the server did not start")
	require.NoFileExists(t, filepath.Join(dir, "results", "metrics-model-inference.csv"))
	require.NoDirExists(t, filepath.Join(dir, "reports", "summaries", "other"))
	var d struct {
		Models []struct{ Recommendation any }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, dir, "results", "profile.json")), &d))
	require.Nil(t, d.Models[0].Recommendation)
}

// TestLongNames: names of models that no file system takes as they are.
func TestLongNames(t *testing.T) {
	t.Parallel()
	r := single()
	m := &r.Models[0]
	m.Name = strings.Repeat("ü", 300) + "/x"
	for i := range m.Results {
		m.Results[i].Config.Members[0].Name = []string{"..", strings.Repeat("v", 300)}[i%2]
	}
	dir := t.TempDir()
	p := defaults(dir)
	p.Formats = []string{"pdf"}
	require.NoError(t, WriteProfile(r, p))
	for _, name := range strings.Fields(files(t, dir)) {
		for _, part := range strings.Split(name, "/") {
			require.LessOrEqual(t, len(part), 255)
		}
	}
	require.FileExists(t, filepath.Join(dir, "reports", "detailed", "__", "detailed_report.html"))
}

// TestFailure: a folder that cannot be made is an error with its name, and no half-written file
// stays.
func TestFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "reports"), nil, 0o600))
	err := WriteProfile(single(), defaults(dir))
	require.ErrorContains(t, err, filepath.Join(dir, "reports", "summaries", "resnet", "result_summary.html"))
	require.NotContains(t, files(t, dir), ".triton-")
}

// TestFields: fields of parameters, of other metrics and without data.
func TestFields(t *testing.T) {
	t.Parallel()
	o := newOutcome(single(), false)
	tab := inferenceTable(o, []string{"model_config_path", "backend_parameter/threads", "backend_parameter/none", "perf_latency", "perf_latency_p90", "cpu_used_ram", "request_rate"})
	require.Equal(t, []string{"Model Config Path", "backend_parameter/threads", "backend_parameter/none", "p99 Latency (ms)", "RAM Usage (MB)", "Request Rate"}, tab.Headers)
	require.Equal(t, []string{`Inference output field "perf_latency_p90", has no data`}, tab.Warnings)
	require.Equal(t, []string{"resnet_config_0", "1", "None", "14.9", "512.0", "None"}, tab.Rows[0])
	require.Len(t, tab.Rows, 12)
	require.Equal(t, []string{"Server output field \"gpu_power_usage\", has no data"}, serverTable(o, []string{"gpu_uuid", "gpu_power_usage"}).Warnings)
	require.Len(t, gpuTable(o, gpuFields).Rows, 12)
	r := single()
	for i := range r.Models[0].Results {
		r.Models[0].Results[i].Config.Members[0].CPUOnly = true
	}
	require.Empty(t, gpuTable(newOutcome(r, false), gpuFields).Rows, "the models use no device")
	require.Len(t, gpuTable(newOutcome(r, true), gpuFields).Rows, 12, "the user wants them all the same")
}

// TestJSONNumbers: what JSON cannot write is left out.
func TestJSONNumbers(t *testing.T) {
	t.Parallel()
	r := single()
	nan := 0.0
	nan /= nan
	m := r.Models[0].Results[0].Measurement
	m.Members[0][trial.LatencyP95] = nan
	m.GPUs[uuid][trial.GPUPower] = nan
	m.Confidence[trial.Throughput] = trial.Interval{Low: nan, High: nan}
	var b bytes.Buffer
	require.NoError(t, writeJSON(&b, newOutcome(r, false)))
	require.NotContains(t, b.String(), "NaN")
	require.True(t, json.Valid(b.Bytes()))
}

// TestResult keeps the result in one file: of one model, of several, and of none.
func TestResult(t *testing.T) {
	t.Parallel()
	write := func(r *profile.Report, form string) string {
		var b bytes.Buffer
		require.NoError(t, Write(&b, r, defaults(""), form))
		return b.String()
	}
	several := single()
	several.Models = append(several.Models, language().Models...)
	for _, form := range []string{"text", "markdown"} {
		sharedtest.GoldenFile(t, "result/single."+form, write(single(), form))
		sharedtest.GoldenFile(t, "result/several."+form, write(several, form))
		if form == "text" {
			sharedtest.GoldenWidths(t, "profile", func(w io.Writer) error { return Write(w, several, defaults(""), form) })
		}
		require.Contains(t, write(reportOf(), form), "Nothing was measured.")
	}
	require.Contains(t, write(several, "html"), "<title>Result Summary: Models: resnet, llm</title>")
	dir := t.TempDir()
	p := defaults(dir)
	p.Formats = []string{"json"}
	require.NoError(t, WriteProfile(single(), p))
	require.Equal(t, read(t, dir, "results", "profile.json"), write(single(), "json"))
	require.Equal(t, read(t, dir, "results", "metrics-model-inference.csv"), write(single(), "csv"))
	require.Equal(t, read(t, dir, "reports", "summaries", "resnet", "result_summary.html"), write(single(), "html"))
	require.EqualError(t, Write(&bytes.Buffer{}, single(), defaults(""), "xml"), `a profile has no form "xml"`)
}
