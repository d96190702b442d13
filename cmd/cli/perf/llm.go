package perf

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/llm"
)

// languageModel holds the options of the metrics of language models, and the metrics.
type languageModel struct {
	on     bool
	goals  []llm.Objective
	levels []measured
}

// measured are the metrics of a level.
type measured struct {
	load   perf.Load
	batch  int // 0: the only batch size
	repeat int // as in perf.Level
	*llm.Metrics
}

// addLLMFlags adds the options of metrics that genai-perf computes.
func (o *options) addLLMFlags(t table) {
	t.toggle("llm", "", "report time to first token, inter-token latency and tokens per second of a language model; with --profile-export-file also as files of genai-perf's form", func() { o.llm.on = true })
	t.value("goodput", "", "<metric:value,…>", "also report the requests per second that keep limits, such as time_to_first_token:300,inter_token_latency:20; may be repeated", func(text string) error {
		goals, err := llm.ParseObjectives(text)
		if err != nil {
			return fmt.Errorf("Failed to parse --goodput. %w", err)
		}
		o.llm.on, o.llm.goals = true, append(o.llm.goals, goals...)
		return nil
	})
	t.MarkOwn("llm", "goodput")
}

// profiled returns the function that computes the metrics of a level; nil if they were not
// asked for.
func (o *options) profiled() func(*perf.Level, *perf.Profile) error {
	if !o.llm.on {
		return nil
	}
	return func(l *perf.Level, p *perf.Profile) error {
		m := llm.Compute(llm.FromProfile(p, o.config.ServiceKind), o.llm.goals)
		batch := 0
		if len(o.config.Batches) > 1 {
			batch = l.Batch
		}
		o.llm.levels = append(o.llm.levels, measured{l.Load, batch, l.Repeat, m})
		return nil
	}
}

// writeLLM prints the metrics of all levels where the other text goes, and writes their files.
func writeLLM(p process.Process, o *options) error {
	text := screen(p, o).Out
	for _, l := range o.llm.levels {
		if err := printLLM(text, l); err != nil {
			return err
		}
		if o.export == "" || o.export == "-" {
			continue
		}
		run := llm.GenAIPerfRun{
			Model: o.config.Model, ServiceKind: o.config.ServiceKind, Endpoint: o.endpoint, URL: o.client.Address,
			Value: l.load.Value, ExportFile: filepath.Base(o.export), Goals: o.llm.goals,
		}
		if err := writeLLMFiles(p, o.export, l, run, len(o.llm.levels) > 1); err != nil {
			return err
		}
	}
	return nil
}

func printLLM(w io.Writer, l measured) error {
	mode, _ := stimulus(l.load)
	title := strings.ReplaceAll(mode, "_", " ")
	if l.load.Mode != perf.FixedSchedule {
		title += fmt.Sprintf(" %.6g", l.load.Value)
	}
	if l.batch > 0 {
		title += fmt.Sprintf(", batch size %d", l.batch)
	}
	if l.repeat > 0 {
		title += fmt.Sprintf(", repeat %d", l.repeat)
	}
	if _, err := fmt.Fprintf(w, "\nLLM metrics, %s\n", title); err != nil {
		return err
	}
	return llm.WriteTable(w, l.Metrics)
}

// stimulus returns genai-perf's name of a load and, as in the names of its folders, the load
// itself.
func stimulus(l perf.Load) (mode, label string) {
	switch l.Mode {
	case perf.Concurrency, perf.Periodic:
		mode = "concurrency"
	case perf.Sessions:
		mode = "session_concurrency"
	case perf.FixedSchedule:
		return "fixed_schedule", "fixed_schedule"
	case perf.RequestRate, perf.Intervals:
		mode = "request_rate"
	}
	return mode, fmt.Sprintf("%s%g", mode, l.Value)
}

// writeLLMFiles writes the files of a level beside the profile export, with its load, batch size
// and repeat in their names if there are several.
func writeLLMFiles(p process.Process, export string, l measured, run llm.GenAIPerfRun, several bool) error {
	stem := strings.TrimSuffix(export, filepath.Ext(export))
	mode, label := stimulus(l.load)
	if several {
		stem += "_" + label
	}
	if l.batch > 0 {
		stem += fmt.Sprintf("_batch%d", l.batch)
	}
	if l.repeat > 0 {
		stem += fmt.Sprintf("_repeat%d", l.repeat)
	}
	run.Mode = mode
	return errors.Join(
		writeReport(p, stem+"_genai_perf.csv", func(w io.Writer) error { return llm.WriteCSV(w, l.Metrics) }),
		writeReport(p, stem+"_genai_perf.json", func(w io.Writer) error { return llm.WriteJSON(w, l.Metrics, run) }))
}
