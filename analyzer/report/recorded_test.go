package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/profile"
	"triton/analyzer/report/page"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// recorded is a profile whose checkpoint Model Analyzer 1.58.0 has turned into the files in
// testdata/modelanalyzer: cpu was measured by it, gpu and models have made up values. The texts of
// its reports are in summary.txt and detailed.txt, their tables with cells between bars.
type recorded struct {
	name    string
	members []profile.MemberReport
	gpu     []string // output fields
}

var recordings = []recorded{
	{"cpu", []profile.MemberReport{{Model: "tiny", CPUOnly: true, Goal: limited(60)}}, gpuFields},
	{"gpu", []profile.MemberReport{{Model: "tiny", Goal: limited(6)}}, append(gpuFields[:len(gpuFields):len(gpuFields)], "gpu_free_memory")},
	{"models", []profile.MemberReport{
		{Model: "a", CPUOnly: true, Goal: trial.Goal{Weight: 2, Constraints: limited(100).Constraints}},
		{Model: "b", CPUOnly: true, Goal: trial.Goal{Weight: 1, Objectives: []trial.Objective{{Tag: trial.LatencyP99, Weight: 10}, {Tag: trial.Throughput, Weight: 5}}}},
	}, gpuFields},
}

var (
	inferenceFields = strings.Split("model_name,batch_size,concurrency,model_config_path,instance_group,max_batch_size,satisfies_constraints,perf_throughput,perf_latency_p99", ",")
	gpuFields       = strings.Split("model_name,gpu_uuid,batch_size,concurrency,model_config_path,instance_group,satisfies_constraints,gpu_used_memory,gpu_utilization,gpu_power_usage", ",")
	serverFields    = strings.Split("model_name,gpu_uuid,gpu_used_memory,gpu_utilization,gpu_power_usage", ",")
)

func limited(latency float64) trial.Goal {
	return trial.Goal{Constraints: []trial.Constraint{{Tag: trial.LatencyP99, Max: &latency}}}
}

func (r recorded) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "modelanalyzer", r.name, name))
	require.NoError(t, err)
	return string(text)
}

// report reads the checkpoint.
func (r recorded) report(t *testing.T) *profile.Report {
	t.Helper()
	state, _, _, err := profile.CheckpointDirectory(filepath.Join("testdata", "modelanalyzer", r.name)).Latest()
	require.NoError(t, err)
	names := make([]string, len(r.members))
	for i, m := range r.members {
		names[i] = m.Model
	}
	m := profile.ModelReport{Name: strings.Join(names, ","), Members: r.members}
	for _, trial := range state.Trials {
		m.Results = append(m.Results, trial.Result)
	}
	rep := &profile.Report{
		Tool: "triton analyze profile 1.2", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Models: []profile.ModelReport{m},
		ServerOnly: state.ServerOnly, GPUs: map[string]profile.GPU{},
	}
	for uuid, g := range state.GPUs {
		rep.GPUs[uuid] = profile.GPU{Name: g.Name, Total: g.Total}
	}
	return rep
}

// write writes everything below a new folder.
func (r recorded) write(t *testing.T) (dir, console string, log []string) {
	t.Helper()
	dir = t.TempDir()
	var b bytes.Buffer
	p := ProfileOptions{
		Options: Options{Mode: settings.Online, Path: dir, Console: &b, Log: func(line string, _ bool) { log = append(log, line) }},
		Output: settings.Output{
			FilenameInference: "metrics-model-inference.csv", FilenameGPU: "metrics-model-gpu.csv", FilenameServerOnly: "metrics-server-only.csv",
			InferenceFields: inferenceFields, GPUFields: r.gpu, ServerFields: serverFields, ConfigsPerModel: 3,
		},
	}
	require.NoError(t, WriteProfile(r.report(t), p))
	return dir, b.String(), log
}

// TestRecordedTables: our tables are those of Model Analyzer, byte by byte.
func TestRecordedTables(t *testing.T) {
	t.Parallel()
	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			dir, console, _ := r.write(t)
			for _, name := range []string{"metrics-model-inference.csv", "metrics-model-gpu.csv", "metrics-server-only.csv"} {
				_, err := os.Stat(filepath.Join("testdata", "modelanalyzer", r.name, name))
				if err != nil {
					require.NoFileExists(t, filepath.Join(dir, "results", name))
					continue
				}
				got, err := os.ReadFile(filepath.Join(dir, "results", name))
				require.NoError(t, err)
				require.Equal(t, r.file(t, name), string(got))
			}
			require.Equal(t, r.file(t, "console.txt"), console)
		})
	}
}

// facts are the texts and the rows of a recorded report.
func (r recorded) facts(t *testing.T, name string) (texts []string, rows [][]string) {
	t.Helper()
	head, table, ok := strings.Cut(r.file(t, name), "\n\n")
	require.True(t, ok)
	for line := range strings.Lines(table) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "|"))
	}
	return strings.Split(head, "\n"), rows
}

// texts returns what a page says outside of tables.
func texts(p *page.Page) []string {
	all := []string{p.Title, p.Subtitle}
	for _, b := range p.Blocks {
		switch b := b.(type) {
		case page.Paragraph:
			all = append(all, page.Text(b).String())
		case page.ChartText:
			all = append(all, string(b))
		case page.List:
			for _, t := range b {
				all = append(all, t.String())
			}
		case page.Charts:
			for _, f := range b {
				all = append(all, f.Caption)
			}
		case page.Table:
			all = append(all, b.Caption)
		}
	}
	return all
}

// rows returns the first table of a page without our own columns.
func rows(p *page.Page) [][]string {
	for _, b := range p.Blocks {
		t, ok := b.(page.Table)
		if !ok {
			continue
		}
		all := make([][]string, len(t.Rows)+1)
		for i, c := range t.Columns {
			if c.Own {
				continue
			}
			all[0] = append(all[0], c.Title)
			for k, row := range t.Rows {
				all[k+1] = append(all[k+1], row[i].String())
			}
		}
		return all
	}
	return nil
}

// TestRecordedSummary: our summaries say what those of Model Analyzer say.
func TestRecordedSummary(t *testing.T) {
	t.Parallel()
	for _, r := range recordings {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			o := newOutcome(r.report(t), false)
			s := newSummary(o, &o.Models[0], summaryOptions{Mode: settings.Online, Top: 3, Plots: settings.SummaryPlots(settings.Online)})
			wantTexts, wantRows := r.facts(t, "summary.txt")
			gotTexts := texts(s.Page)
			if r.name == "models" {
				// Model Analyzer takes models without devices for users of devices, with empty values.
				wantTexts = replaced(wantTexts, "GPU(s):", "", "Total Available GPU Memory: 0 GB", "", ", on GPU(s) .", ".",
					"GPU Memory vs. Latency", "CPU Memory vs. Latency")
				for i, row := range wantRows {
					wantRows[i] = row[:len(row)-2]
					wantRows[i][0] = strings.Replace(row[0], "b_config", ", b_config", 1) // a line break in the report
				}
			}
			for _, text := range wantTexts {
				require.Contains(t, gotTexts, text)
			}
			require.Equal(t, wantRows, rows(s.Page))
		})
	}
}

// replaced replaces parts of texts in pairs, and drops texts that become empty.
func replaced(texts []string, pairs ...string) []string {
	var all []string
	for _, text := range texts {
		if text = strings.NewReplacer(pairs...).Replace(text); text != "" {
			all = append(all, text)
		}
	}
	return all
}
