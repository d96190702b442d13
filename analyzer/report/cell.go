package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"triton/analyzer/report/page"
	"triton/analyzer/trial"
)

// valueCell formats a metric of a result: the value, or with several members the combined value in bold
// and theirs in parentheses.
func valueCell(r trial.Result, tag trial.Metric) page.Text {
	combined, ok := valueOf(r, tag)
	if !ok {
		return page.Plain("-")
	}
	members := valuesOf(r.Measurement, tag)
	if len(members) < 2 {
		return page.Plain(numberCell(combined))
	}
	texts := make([]string, len(members))
	for i, v := range members {
		texts[i] = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return page.Text{{Text: strconv.FormatFloat(combined, 'f', 1, 64), Bold: true}, {Text: " (" + strings.Join(texts, ", ") + ")"}}
}

// deviceCell formats a metric of devices: memory in whole megabytes, others with one digit after the
// point.
func deviceCell(r trial.Result, tag trial.Metric) page.Text {
	v, ok := valueOf(r, tag)
	if !ok {
		return page.Plain("-")
	}
	if tag == trial.GPUUsedMemory {
		return page.Plain(strconv.FormatFloat(math.Trunc(v), 'f', 0, 64))
	}
	return page.Plain(strconv.FormatFloat(v, 'f', 1, 64))
}

// numberCell formats a value with one to three digits after the point.
func numberCell(v float64) string {
	text := strconv.FormatFloat(v, 'f', 3, 64)
	for strings.HasSuffix(text, "0") && !strings.HasSuffix(text, ".0") {
		text = text[:len(text)-1]
	}
	return text
}

// intervalCell formats the confidence interval of a metric; empty if it is not known, or is that of one
// of several members.
func intervalCell(r trial.Result, tag trial.Metric) string {
	i, ok := r.Measurement.Confidence[tag]
	if !ok || len(r.Measurement.Members) > 1 {
		return ""
	}
	return fmt.Sprintf("%s to %s", strconv.FormatFloat(i.Low, 'f', 1, 64), strconv.FormatFloat(i.High, 'f', 1, 64))
}

// requestsCell formats the number of requests behind a measurement.
func requestsCell(r trial.Result) string {
	var all []string
	for _, n := range r.Measurement.Requests {
		all = append(all, strconv.Itoa(n))
	}
	if len(all) > 1 {
		return "(" + strings.Join(all, ", ") + ")"
	}
	return strings.Join(all, "")
}

// variantCell says what a variant is: instances, batch size, backend.
func variantCell(o *outcome, v trial.Variant) page.Text {
	return page.Mixed("", v.Name, fmt.Sprintf(": %s with a max batch size of %d on platform %s", o.InstancePhrase(v), v.Config.GetMaxBatchSize(), platformOf(v)))
}

// settledCell says whether a measurement settled.
func settledCell(r trial.Result) string { return yesNo(r.Measurement.Stable) }

// yesNo returns "Yes" or "No".
func yesNo(v bool) string {
	if v {
		return "Yes"
	}
	return "No"
}

// ownNote explains the marks of our own columns.
const ownNote = "Columns with * are not in reports of Model Analyzer."
