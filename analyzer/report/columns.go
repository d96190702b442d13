package report

import (
	"slices"

	"triton/analyzer/report/page"
	"triton/analyzer/trial"
)

// column is a column of a table, with the cell of each row.
type column[Row any] struct {
	page.Column
	text func(Row) page.Text
}

func tableOf[Row any](caption string, columns []column[Row], rows []Row) page.Table {
	t := page.Table{Caption: caption}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	for _, r := range rows {
		row := make([]page.Text, len(columns))
		for i, c := range columns {
			row[i] = c.text(r)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func metricColumn(title string, tag trial.Metric) column[trial.Result] {
	return column[trial.Result]{page.Column{Title: title, Number: true}, func(r trial.Result) page.Text { return valueCell(r, tag) }}
}

func deviceColumn(title string, tag trial.Metric) column[trial.Result] {
	return column[trial.Result]{page.Column{Title: title, Number: true}, func(r trial.Result) page.Text { return deviceCell(r, tag) }}
}

// ownColumn returns a column that Model Analyzer does not have.
func ownColumn(title string, number bool, text func(trial.Result) string) column[trial.Result] {
	return column[trial.Result]{page.Column{Title: title, Number: number, Own: true}, func(r trial.Result) page.Text { return page.Plain(text(r)) }}
}

// ownColumns returns the columns that Model Analyzer has in no table, as far as the results have something to
// say in them.
func ownColumns(m *modelOutcome, results []trial.Result, metrics []trial.Metric) []column[trial.Result] {
	var all []column[trial.Result]
	for _, tag := range metrics {
		if hasMetric(results, tag) {
			c := metricColumn(headerOf(tag), tag)
			c.Own = true
			all = append(all, c)
		}
	}
	interval := func(r trial.Result) string { return intervalCell(r, trial.Throughput) }
	if slices.ContainsFunc(results, func(r trial.Result) bool { return interval(r) != "" }) {
		all = append(all, ownColumn("Throughput, 95 % interval", true, interval))
	}
	if slices.ContainsFunc(results, func(r trial.Result) bool { return requestsCell(r) != "" }) {
		all = append(all, ownColumn("Requests", true, requestsCell))
	}
	if slices.ContainsFunc(results, func(r trial.Result) bool { return !r.Measurement.Stable }) {
		all = append(all, ownColumn("Settled", false, settledCell))
	}
	if len(m.Constraints()) > 0 {
		all = append(all, ownColumn("Satisfies Constraints", false, func(r trial.Result) string { return yesNo(m.Scorer.Passes(r.Measurement)) }))
	}
	return all
}
