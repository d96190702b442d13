package repo

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"triton/pkg/trafficrules"
	"triton/pkg/ui"
)

// writeTrafficJSON writes the state of one model as an object, and of several as an array.
func writeTrafficJSON(w io.Writer, all []*trafficrules.Status, single bool) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if single && len(all) == 1 {
		return e.Encode(all[0])
	}
	return e.Encode(all)
}

// columns returns columns of texts, then columns of numbers.
func columns(texts []string, numbers ...string) (all []ui.Column) {
	for _, t := range texts {
		all = append(all, ui.Column{Title: t})
	}
	for _, t := range numbers {
		all = append(all, ui.Column{Title: t, Align: ui.Right})
	}
	return all
}

// writeTrafficText writes the rules and the decisions of each model.
func writeTrafficText(w io.Writer, all []*trafficrules.Status) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No model has traffic rules.")
		return err
	}
	for _, st := range all {
		rules, err := json.Marshal(st.Rules)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s rules, generation %d, %d open sequences\n%s\n", st.Model, st.Source, st.Generation, st.Sequences, rules)
		var rows [][]string
		for _, d := range st.Decisions {
			rows = append(rows, []string{d.Target, d.Version, d.Rule, strconv.FormatUint(d.Count, 10)})
		}
		if err := ui.Table(w, columns([]string{"Model", "Version", "Rule"}, "Requests"), rows); err != nil {
			return err
		}
	}
	if err := writeCanaries(w, all); err != nil {
		return err
	}
	return writeShadows(w, all)
}

// writeCanaries writes the state of each canary.
func writeCanaries(w io.Writer, all []*trafficrules.Status) error {
	for _, st := range all {
		c := st.Canary
		if c == nil {
			continue
		}
		fmt.Fprintf(w, "Canary of %s: %s, step %d of %d, %g %% of the requests, since %s\n",
			st.Model, c.State, c.Step, c.Steps, c.Weight, c.Since.Format(time.DateTime))
		if c.Reason != "" {
			fmt.Fprintf(w, "%s\n", c.Reason)
		}
		row := func(name string, n trafficrules.Window) []string {
			interval := fmt.Sprintf("%s to %s", ui.Number(n.P99Low/1e3), ui.Number(n.P99High/1e3))
			if n.P99High == 0 {
				interval = "too few requests"
			}
			return []string{name, strconv.FormatInt(n.Requests, 10), strconv.FormatInt(n.Failed, 10), ui.Number(n.P99 / 1e3), interval}
		}
		header := columns([]string{"Target"}, "Requests", "Failed", "p99 ms", "95 % interval")
		if err := ui.Table(w, header, [][]string{row("stable", c.Stable), row("canary", c.Canary)}); err != nil {
			return err
		}
	}
	return nil
}

// writeShadows writes the results of each shadow.
func writeShadows(w io.Writer, all []*trafficrules.Status) error {
	for _, st := range all {
		s := st.Shadow
		if s == nil {
			continue
		}
		fmt.Fprintf(w, "Shadow of %s: %d of %d elements differ, by at most %g\n", st.Model, s.MismatchedElements, s.Elements, s.MaxAbsError)
		header := columns(nil, "Compared", "Mismatched", "Failed", "Dropped", "Skipped", "Pending")
		var row []string
		for _, n := range []uint64{s.Compared, s.Mismatched, s.Failed, s.Dropped, s.Skipped, uint64(s.Pending)} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		if err := ui.Table(w, header, [][]string{row}); err != nil {
			return err
		}
	}
	return nil
}

// writeDiffs writes the sampled differences.
func writeDiffs(w io.Writer, all []*trafficrules.Status) error {
	for _, st := range all {
		if st.Shadow == nil || len(st.Shadow.Diffs) == 0 {
			fmt.Fprintf(w, "%s has no sampled differences.\n", st.Model)
			continue
		}
		var rows [][]string
		for _, d := range st.Shadow.Diffs {
			detail := d.Detail
			if d.Mismatched > 0 {
				detail = fmt.Sprintf("%d of %d elements, at %d: %s, not %s", d.Mismatched, d.Elements, d.Index, d.ShadowValue, d.PrimaryValue)
			}
			rows = append(rows, []string{d.Time.Format(time.DateTime), d.Primary, d.Shadow, d.Output, d.Reason, detail, d.RequestID})
		}
		if err := ui.Table(w, columns([]string{"Time", "Primary", "Shadow", "Output", "Reason", "Detail", "Request"}), rows); err != nil {
			return err
		}
	}
	return nil
}
