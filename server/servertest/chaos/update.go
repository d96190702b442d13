package chaos

import (
	"path/filepath"
	"strconv"
	"time"
)

// update replaces the content of a version that serves. No request may fail.
type update struct{}

func (update) applies(m Model, _ Control) bool { return m.numbered() }

func (update) play(e *episode) error {
	v := e.any()
	if err := e.write(v, e.next()); err != nil {
		return err
	}
	return e.served()
}

// any returns a version that serves.
func (e *episode) any() int {
	all := e.x.selects(keys(e.x.current))
	return all[e.rng.IntN(len(all))]
}

// write replaces the file of a version.
func (e *episode) write(version int, edition int64) error {
	name, content := e.x.file(e.Root, edition)
	e.x.current[version] = edition
	e.oracle.may(e.x, time.Now())
	return e.replace(filepath.Join(e.x.dir, strconv.Itoa(version), name), content)
}

// same loads a model of which nothing has changed, or only the time of a file. No request may
// fail.
type same struct{}

func (same) applies(m Model, _ Control) bool { return m.Name != "" }

func (same) play(e *episode) error {
	if e.rng.IntN(2) == 0 {
		if err := e.configure(e.x.config); err != nil {
			return err
		}
	}
	return e.served()
}
