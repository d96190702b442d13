// Which part of a model in a store stands still is decided here, so that a poll does not load files that
// are still being written.

package state

import (
	"maps"
	"slices"
	"time"

	"triton/server/store"
)

// SettleTracker remembers since when the entries of models are as they are. A poll at a time uses it.
type SettleTracker struct {
	// Time is how long an entry must be unchanged to be loaded.
	Time time.Duration
	seen map[store.ID]map[string]sighting
}

// sighting is when an entry was first seen with a tag.
type sighting struct {
	tag   string
	since time.Time
}

// absentEntry is the tag of an entry, or of a model, that is not there; wholeModel stands for the model as a
// whole.
const (
	absentEntry = "\x00absent"
	wholeModel  = "\x00model"
)

// folderItself is the entry of a stamp that stands for the model's folder.
const folderItself = ""

// Settled returns the part of a model that may be loaded: found is its stamp in the store, loaded the stamp
// of the content that serves, nil if nothing serves. New versions that do not stand still are left
// out; versions that are being changed are as they were. The wait says what is left out, and is
// nil if nothing is. If unsettled is set, nothing of the model may be loaded now: it is new, or what
// changes concerns all versions.
func (t *SettleTracker) Settled(id store.ID, now time.Time, found, loaded store.Stamp) (visible store.Stamp, w *SettleWait, unsettled bool) {
	if found == nil || found.Same(loaded) {
		delete(t.seen, id)
		return found, nil, false
	}
	maps.DeleteFunc(t.seen[id], func(name string, s sighting) bool {
		_, back := found[name]
		return s.tag == absentEntry && (back || name == wholeModel)
	})
	visible = maps.Clone(found)
	grew := loaded != nil && !lacks(found, loaded) // what was added to the folder has a time of its own
	versionChanges := false                        // one that serves, or served
	for _, name := range slices.Sorted(maps.Keys(found)) {
		e := found[name]
		before, had := loaded[name]
		if before.Tag == e.Tag && before.Dir == e.Dir || name == folderItself && grew {
			continue
		}
		wait := t.wait(id, name, e, now)
		if wait == nil {
			continue
		}
		w = later(w, wait)
		switch {
		case loaded == nil || !e.Dir || name == folderItself || !store.IsVersion(name):
			unsettled = true
		case had:
			visible[name], versionChanges = before, true
		default:
			delete(visible, name)
		}
	}
	if missing := t.removed(id, now, found, loaded); missing != nil {
		w, unsettled = later(w, missing), true
	}
	if w == nil {
		return found, nil, false
	}
	if _, has := found[folderItself]; has && sameBelow(visible, loaded) {
		visible[folderItself] = loaded[folderItself] // only what waits has changed the time of the folder
	}
	// The old files of a version are not loaded with new files beside it, such as a configuration.
	if versionChanges && !sameBeside(visible, loaded) {
		unsettled = true
	}
	return visible, w, unsettled
}

// lacks reports whether an entry is missing.
func lacks(found, loaded store.Stamp) bool {
	for name := range loaded {
		if _, there := found[name]; !there {
			return true
		}
	}
	return false
}

// later returns the wait that ends last: that of a file that is not complete, else the latest.
func later(a, b *SettleWait) *SettleWait {
	switch {
	case a == nil:
		return b
	case a.partial || !b.partial && !b.Until.After(a.Until):
		return a
	}
	return b
}

// removed returns the wait for entries that were removed. The time of the model's folder says since when
// they are, in stores that have it.
func (t *SettleTracker) removed(id store.ID, now time.Time, found, loaded store.Stamp) *SettleWait {
	if found[folderItself].ChangedAt > 0 {
		return nil
	}
	var w *SettleWait
	for name := range loaded {
		if _, there := found[name]; there {
			continue
		}
		since := t.sight(id, name, absentEntry, now)
		if until := since.Add(t.Time); until.After(now) {
			w = later(w, &SettleWait{Until: until, entry: name, changed: since, removed: true})
		}
	}
	return w
}

// sameBelow reports whether all entries but the folder itself are the same.
func sameBelow(s, t store.Stamp) bool {
	return sameBut(s, t, func(name string) bool { return name == folderItself })
}

// sameBeside reports whether all entries beside the versions are the same.
func sameBeside(s, t store.Stamp) bool { return sameBut(s, t, store.IsVersion) }

func sameBut(s, t store.Stamp, leave func(name string) bool) bool {
	if s == nil || t == nil {
		return false
	}
	s, t = maps.Clone(s), maps.Clone(t)
	for _, all := range []store.Stamp{s, t} {
		maps.DeleteFunc(all, func(name string, _ store.Entry) bool { return leave(name) })
	}
	return s.Same(t)
}

// Missing returns the wait before a model that the store no longer has is unloaded; nil: it has been
// missing for long enough. A folder that is replaced by another one is away for a moment.
func (t *SettleTracker) Missing(id store.ID, now time.Time) *SettleWait {
	since := t.sight(id, wholeModel, absentEntry, now)
	if until := since.Add(t.Time); until.After(now) {
		return &SettleWait{Until: until, changed: since, removed: true}
	}
	delete(t.seen, id)
	return nil
}

// CompleteVersions returns a stamp without the versions that have a file that is not complete, if another
// version is left. The first load of a model does not wait for its files to stand still.
func CompleteVersions(found store.Stamp) store.Stamp {
	visible, versions := maps.Clone(found), 0
	for name, e := range found {
		switch {
		case !e.Dir || name == folderItself || !store.IsVersion(name):
		case e.Partial != "":
			delete(visible, name)
		default:
			versions++
		}
	}
	if versions == 0 {
		return found
	}
	return visible
}

// wait returns why an entry may not be loaded yet; nil: it may be.
func (t *SettleTracker) wait(id store.ID, name string, e store.Entry, now time.Time) *SettleWait {
	since := t.sight(id, name, e.Tag, now)
	if e.Partial != "" {
		return &SettleWait{entry: name, file: e.Partial, partial: true, changed: since}
	}
	until, changed := since.Add(t.Time), since
	if e.ChangedAt > 0 {
		// The time in the file says more than the first poll after it, unless it is in the future.
		if at := time.Unix(0, e.ChangedAt); at.Before(since) {
			until, changed = at.Add(t.Time), at
		}
	}
	if !until.After(now) {
		return nil
	}
	return &SettleWait{Until: until, entry: name, file: e.Newest, changed: changed}
}

// sight returns since when an entry is seen with a tag.
func (t *SettleTracker) sight(id store.ID, name, tag string, now time.Time) time.Time {
	if t.seen == nil {
		t.seen = map[store.ID]map[string]sighting{}
	}
	all := t.seen[id]
	if all == nil {
		all = map[string]sighting{}
		t.seen[id] = all
	}
	before, known := all[name]
	if !known || before.tag != tag {
		before = sighting{tag, now}
		all[name] = before
	}
	return before.since
}
