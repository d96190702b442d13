package simulate

import (
	"fmt"
	"io"
	"slices"

	"triton/analyzer/capacity"
	"triton/cmd/cli/flags"
	"triton/pkg/ui"
)

// capacityResult is the result of `triton analyze capacity`. The answers are in the order of what
// they need.
type capacityResult struct {
	model   string
	load    load
	target  capacity.Target
	answers []capacity.Answer
	doubts
}

// add keeps the order.
func (r *capacityResult) add(a capacity.Answer) {
	i := slices.IndexFunc(r.answers, func(b capacity.Answer) bool { return a.Better(b) })
	if i < 0 {
		i = len(r.answers)
	}
	r.answers = slices.Insert(r.answers, i, a)
}

// answer is an answer in JSON.
type answer struct {
	MaxBatch  int       `json:"max_batch_size"`
	DelayUs   *int64    `json:"queue_delay_us"`
	Instances int       `json:"instances,omitempty"`
	Devices   int       `json:"devices,omitempty"`
	Holds     *outcome  `json:"holds,omitempty"`
	Fails     *outcome  `json:"one_less,omitempty"`
	Tried     []outcome `json:"tried"`
	Reason    string    `json:"reason,omitempty"`
}

func (r *capacityResult) write(w io.Writer, form string) error {
	switch form {
	case flags.JSONForm.Name:
		return r.writeJSON(w)
	case flags.CSVForm.Name:
		return writeCSV(w, r.evidence())
	}
	rows := r.evidence()
	d := ui.Document{Title: title("Capacity", r.model), Columns: columns(rows), Rows: cells(rows), Notes: r.notes()}
	for i, line := range d.Rows {
		if line[len(line)-1] == "" && r.target.Holds(rows[i].Outcome) {
			line[len(line)-1] = "holds"
		} else if line[len(line)-1] == "" {
			line[len(line)-1] = "fails"
		}
	}
	return flags.WriteDocument(w, form, d)
}

func (r *capacityResult) row(o capacity.Outcome) row { return row{r.load, o} }

// evidence has the rows on both sides of the limit of each answer; of one without a limit, the
// last that was tried.
func (r *capacityResult) evidence() []row {
	var rows []row
	for _, a := range r.answers {
		if a.Holds == nil {
			rows = append(rows, r.row(a.Tried[len(a.Tried)-1]))
			continue
		}
		rows = append(rows, r.row(*a.Holds))
		if a.Fails != nil {
			rows = append(rows, r.row(*a.Fails))
		}
	}
	return rows
}

func (r *capacityResult) notes() []string {
	best := r.answers[0]
	if best.Holds == nil {
		return append([]string{fmt.Sprintf("p99 of %v at %s: no setting holds it; %s.", r.target.P99, r.load.name, best.Reason)}, r.assumptions()...)
	}
	s := best.Holds.Setting
	line := fmt.Sprintf("p99 of %v at %s: %s on %s, with max_batch_size %d and ", r.target.P99, r.load.name,
		ui.Plural(s.Instances, "instance"), ui.Plural(s.Devices, "device"), s.MaxBatch)
	if s.Dynamic() {
		line += "a queue delay of " + s.Delay.String()
	} else {
		line += "no dynamic batching"
	}
	return append([]string{line + "."}, r.assumptions()...)
}

func (r *capacityResult) assumptions() []string {
	var notes []string
	for _, d := range r.doubts {
		notes = append(notes, d+".")
	}
	return notes
}

func (r *capacityResult) writeJSON(w io.Writer) error {
	all := make([]answer, len(r.answers))
	for i, a := range r.answers {
		o := answer{MaxBatch: a.Setting.MaxBatch, Reason: a.Reason}
		if a.Setting.Dynamic() {
			us := a.Setting.Delay.Microseconds()
			o.DelayUs = &us
		}
		for _, t := range a.Tried {
			o.Tried = append(o.Tried, outcomeOf(r.row(t)))
		}
		if a.Holds != nil {
			holds := outcomeOf(r.row(*a.Holds))
			o.Holds, o.Instances, o.Devices = &holds, a.Holds.Setting.Instances, a.Holds.Setting.Devices
		}
		if a.Fails != nil {
			fails := outcomeOf(r.row(*a.Fails))
			o.Fails = &fails
		}
		all[i] = o
	}
	return flags.WriteJSON(w, struct {
		Model   string   `json:"model,omitempty"`
		Load    string   `json:"load"`
		P99Us   float64  `json:"target_p99_us"`
		Answers []answer `json:"answers"`
		Doubts  []string `json:"assumptions,omitempty"`
	}{r.model, r.load.name, microseconds(r.target.P99), all, r.doubts})
}
