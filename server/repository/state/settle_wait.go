package state

import (
	"fmt"
	"time"

	"triton/server/store"
)

// SettleWait says what a poll does not load yet, and why.
type SettleWait struct {
	// Until is when it will stand still if nothing changes; zero: that is not known, because a file is
	// not complete by its name.
	Until time.Time

	entry   string // in the model's folder, or folderItself
	file    string // in the entry; empty: the entry itself
	changed time.Time
	partial bool
	removed bool
}

// Text describes the wait, for the repository index.
func (w *SettleWait) Text(now time.Time) string {
	ago := fmt.Sprintf("%.1f s ago", max(now.Sub(w.changed), 0).Seconds())
	what := "the model"
	if w.entry != folderItself && store.IsVersion(w.entry) {
		what = "version " + w.entry
	}
	switch {
	case w.removed && w.entry == folderItself:
		return "waiting whether the model is replaced: its folder was gone " + ago
	case w.removed:
		return fmt.Sprintf("waiting until the model stands still: %s was removed %s", w.entry, ago)
	case w.partial:
		return fmt.Sprintf("waiting until %s is complete: its name says that %s is still being written", what, w.file)
	}
	file := w.file
	switch {
	case file != "":
	case w.entry == folderItself, what != "the model":
		file = "its folder"
	default:
		file = w.entry
	}
	return fmt.Sprintf("waiting until %s stands still: %s changed %s", what, file, ago)
}

// Same reports whether two waits are for the same change.
func (w *SettleWait) Same(v *SettleWait) bool {
	return v != nil && w.entry == v.entry && w.file == v.file && w.partial == v.partial && w.removed == v.removed
}
