package analyze

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triton/cmd/cli/flags"
	"triton/pkg/ui"
)

func writeFit(w io.Writer, form string, r *fitResult) error {
	switch form {
	case flags.JSONForm.Name:
		return flags.WriteJSON(w, r)
	case flags.CSVForm.Name:
		return writeFitCSV(w, r)
	}
	return flags.WriteDocument(w, form, fitPage(r))
}

var fitTitles = []string{"Model", "Device", "Usable", "Fits", "On the whole GPU", "Of use", "Status"}

func fitPage(r *fitResult) ui.Document {
	d := ui.Document{Title: "Instances that devices hold"}
	for i, title := range fitTitles {
		c := ui.Column{Title: title}
		if i >= 2 && i <= 5 {
			c.Align = ui.Right
		}
		if title == "Status" { // the note says it
			c.Spare = 1
		}
		d.Columns = append(d.Columns, c)
	}
	for _, row := range r.Rows {
		d.Rows = append(d.Rows, fitCells(row))
	}
	for _, p := range r.Packing {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(p.Instances)) {
			parts = append(parts, fmt.Sprintf("%s %d", name, p.Instances[name]))
		}
		if len(parts) == 0 {
			parts = []string{"nothing"}
		}
		d.Notes = append(d.Notes, fmt.Sprintf("together on %s: %s (%s)", p.Device, strings.Join(parts, ", "), mibText(p.Bytes)))
	}
	d.Notes = append(d.Notes, r.Notes...)
	d.Notes = append(d.Notes, "all counts are predicted; triton analyze on the device verifies them")
	return d
}

// fitCells returns the cells of a row, in the order of fitTitles.
func fitCells(r fitRow) []string {
	fits, whole, useful := "memory is not what limits", "", ""
	if r.Fits != nil {
		fits = strconv.Itoa(*r.Fits)
	}
	if r.Missing > 0 {
		fits += fmt.Sprintf(" (%s missing)", mibText(r.Missing))
	}
	if r.Slices > 0 && r.Fits != nil {
		whole = strconv.Itoa(r.Whole)
		if r.Best {
			whole += " best"
		}
	}
	if r.Useful > 0 {
		useful = strconv.Itoa(r.Useful)
	}
	return []string{r.Model, r.Device, mibText(r.Usable), fits, whole, useful, r.Status}
}

func mibText(bytes uint64) string { return strconv.FormatUint(bytes>>20, 10) + " MiB" }

func writeFitCSV(w io.Writer, r *fitResult) error {
	lines := [][]string{{"model", "device", "usable_bytes", "fits", "whole_gpu", "useful", "status", "shortfall_bytes"}}
	for _, row := range r.Rows {
		fits, whole := "", ""
		if row.Fits != nil {
			fits = strconv.Itoa(*row.Fits)
		}
		if row.Slices > 0 {
			whole = strconv.Itoa(row.Whole)
		}
		lines = append(lines, []string{
			row.Model, row.Device, strconv.FormatUint(row.Usable, 10), fits, whole, strconv.Itoa(row.Useful), row.Status,
			strconv.FormatUint(row.Missing, 10),
		})
	}
	return csv.NewWriter(w).WriteAll(lines)
}
