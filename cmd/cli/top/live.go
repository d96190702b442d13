package top

import (
	"slices"
	"strings"
	"sync"
	"time"

	"triton/pkg/ui"
)

// view is the live view: the last readings and what the user has chosen. Readings and keys come from
// different goroutines.
type view struct {
	address  string
	interval time.Duration
	colors   ui.Palette

	mu      sync.Mutex
	earlier *sample
	now     *sample
	table   Table
	read    time.Time // of the last answer, or the start
	err     error     // why there is no newer answer
	sort    string
	reverse bool
	filter  string
	typing  bool // the keys are letters of the filter
	first   int  // index of the first row that is shown
	room    int  // rows of the table at the last drawing
}

// show takes a reading of the server, or the reason why there is none.
func (v *view) show(s *sample, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err = err; err != nil {
		return
	}
	v.earlier, v.now, v.read = v.now, s, s.at
	v.arrange()
}

// arrange makes the table of the readings as the user has chosen.
func (v *view) arrange() {
	if v.now == nil {
		return
	}
	v.table = between(v.earlier, v.now, v.filter)
	order(v.table.Rows, v.sort, v.reverse)
}

// Draw implements ui.Full.
func (v *view) Draw(width, height int) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	parts := []ui.Part{{Text: v.head(width, time.Now())}, {Text: machineRow(width, &v.table.Machine), Spare: 2}}
	if v.err != nil {
		parts = append(parts, ui.Part{Text: v.colors.Bad(printable(brief(v.err).Error()))})
	}
	for _, n := range v.table.Notes {
		parts = append(parts, ui.Part{Text: v.colors.Warn(printable(n)), Spare: 3})
	}
	all := append([]Row{v.table.All}, v.table.Rows...)
	shown, widths := layout(width, all, minName)
	top := append(parts, ui.Part{Text: ui.Faint(header(shown, widths, v.sort, v.reverse))})
	if v.now != nil {
		top = append(top, ui.Part{Text: ui.Strong(line(shown, widths, func(c *column) string { return c.text(&all[0]) }))})
	}
	used := len(slices.DeleteFunc(slices.Clone(top), func(p ui.Part) bool { return p.Text == "" }))
	v.room = max(1, height-used-1)
	v.first = max(0, min(v.first, len(v.table.Rows)-v.room))
	for i := v.first; i < min(v.first+v.room, len(v.table.Rows)); i++ {
		r := &v.table.Rows[i]
		text := line(shown, widths, func(c *column) string { return c.text(r) })
		switch {
		case v.err != nil || r.State != "" && r.State != "READY" && r.State != "LOADING" && r.State != "UNLOADING":
			text = ui.Faint(text)
		case r.Failures != nil && *r.Failures > 0:
			text = v.colors.Bad(text)
		case r.State == "LOADING" || r.State == "UNLOADING":
			text = v.colors.Warn(text)
		}
		top = append(top, ui.Part{Text: text, Spare: 1})
	}
	return ui.View(max(1, height-1), top...) + "\n" + v.footer(width)
}

func (v *view) footer(width int) string {
	switch {
	case v.typing:
		return ui.Row(width, ui.Part{Text: "filter: " + v.filter + "▏"}, ui.Part{Text: ui.Faint("enter keeps it, esc removes it"), Spare: 1})
	case v.filter != "":
		return ui.Row(width, ui.Part{Text: "filter: " + v.filter}, ui.Part{Text: ui.Faint("/ changes it"), Spare: 1}, ui.Part{Text: ui.Faint("q quits"), Spare: 1})
	}
	return ui.Faint(ui.Row(width, ui.Part{Text: "q quit"}, ui.Part{Text: "< > sort"}, ui.Part{Text: "/ filter"},
		ui.Part{Text: "r reverse", Spare: 1}, ui.Part{Text: "↑ ↓ scroll", Spare: 2}))
}

// Key implements ui.Full.
func (v *view) Key(name string) (end bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if name == "ctrl+c" {
		return true
	}
	if v.typing {
		v.typed(name)
		return false
	}
	switch name {
	case "q":
		return true
	case "<", "left", ">", "right":
		names := columnNames()
		step := 1
		if name == "<" || name == "left" {
			step = len(names) - 1
		}
		v.sort = names[(slices.Index(names, v.sort)+step)%len(names)]
	case "r":
		v.reverse = !v.reverse
	case "/":
		v.typing = true
	case "esc":
		v.filter = ""
	case "up", "k":
		v.first--
	case "down", "j":
		v.first++
	case "pgup":
		v.first -= v.room
	case "pgdown", "space":
		v.first += v.room
	case "home", "g":
		v.first = 0
	case "end", "G":
		v.first = len(v.table.Rows)
	}
	v.first = max(0, v.first)
	v.arrange()
	return false
}

// typed changes the filter by a key.
func (v *view) typed(name string) {
	switch name {
	case "enter":
		v.typing = false
	case "esc":
		v.typing, v.filter = false, ""
	case "backspace":
		letters := []rune(v.filter)
		v.filter = string(letters[:max(0, len(letters)-1)])
	default:
		if letters := []rune(name); len(letters) == 1 && strings.TrimSpace(name) != "" {
			v.filter += name
		}
	}
	v.first = 0
	v.arrange()
}
