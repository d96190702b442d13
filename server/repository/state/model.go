package state

import (
	"cmp"
	"log/slog"
	"slices"
	"strconv"

	"triton/server/infer"
	"triton/server/model"
	"triton/server/store"
)

// Model is a model and its versions.
type Model struct {
	ID store.ID
	// Desired reports whether the model was loaded, or should have been, and not unloaded
	// since.
	Desired  bool
	Versions []Version // ascending

	label  string  // the model's name in the log
	newest *Newest // nil when no version is ready
}

// copy returns a copy that may be changed. A nil model gives a model without versions.
func (m *Model) copy(id store.ID) *Model {
	if m == nil {
		return &Model{ID: id, label: id.String()}
	}
	c := *m
	c.Versions = slices.Clone(m.Versions)
	return &c
}

// Version returns the version of a number; nil when the model has none.
func (m *Model) Version(n int64) *Version {
	i, found := m.search(n)
	if !found {
		return nil
	}
	return &m.Versions[i]
}

// Add returns the version of a number. It adds the version if there is none.
func (m *Model) Add(n int64) *Version {
	i, found := m.search(n)
	if !found {
		m.Versions = slices.Insert(m.Versions, i, Version{Number: n, text: strconv.FormatInt(n, 10)})
	}
	return &m.Versions[i]
}

func (m *Model) search(n int64) (int, bool) {
	return slices.BinarySearchFunc(m.Versions, n, func(v Version, n int64) int { return cmp.Compare(v.Number, n) })
}

// Unload takes all ready versions out of service. It returns the versions to close.
func (m *Model) Unload() (retired []*model.LoadedVersion) {
	for i := range m.Versions {
		if v := &m.Versions[i]; v.State == VersionReady {
			v.State = VersionUnloading
			retired = append(retired, v.Loaded)
		}
	}
	return retired
}

// Newest returns the version that requests without a version use; nil when none is ready.
func (m *Model) Newest() *model.LoadedVersion {
	if m == nil || m.newest == nil {
		return nil
	}
	return m.newest.LoadedVersion
}

// ReadyVersions returns the ready versions.
func (m *Model) ReadyVersions() (all []*model.LoadedVersion) {
	if m == nil {
		return nil
	}
	for _, v := range m.Versions {
		if v.State == VersionReady {
			all = append(all, v.Loaded)
		}
	}
	return all
}

// Broken reports whether a ready version of the model has lost all its instances.
func (m *Model) Broken() bool {
	return slices.ContainsFunc(m.ReadyVersions(), (*model.LoadedVersion).Broken)
}

// findNewest sets newest after a change of the versions.
func (m *Model) findNewest(chooser infer.Chooser, log *slog.Logger) {
	m.newest = nil
	var texts []string
	var last *model.LoadedVersion
	for i := range m.Versions {
		if v := &m.Versions[i]; v.State == VersionReady {
			last, texts = v.Loaded, append(texts, v.text)
		}
	}
	if last == nil {
		return
	}
	m.newest = &Newest{LoadedVersion: last, metadata: model.Describe(last.Config(), texts...)}
	if ready := m.sameDecoupling(last); chooser != nil && len(ready) > 1 {
		m.newest.choice = &choice{chooser, ready, log}
	}
}

// sameDecoupling returns the ready versions whose decoupled setting equals that of v. A chooser
// picks only among them, because frontends read the setting before they decode a request.
func (m *Model) sameDecoupling(v *model.LoadedVersion) (all []infer.Model) {
	decoupled := func(v *model.LoadedVersion) bool { return v.Config().Decoupled() }
	for _, l := range m.ReadyVersions() {
		if decoupled(l) == decoupled(v) {
			all = append(all, l)
		}
	}
	return all
}
