package chaos

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// newVersion adds a version, which becomes the newest one, and removes it again. Requests fail
// only if they name a version that the policy takes out of service.
type newVersion struct{}

func (newVersion) applies(m Model, _ Control) bool { return m.numbered() || m.kind == "identity" }

func (newVersion) play(e *episode) error {
	v, edition := last(e.x)+1, e.next()
	if !e.x.numbered() {
		edition = int64(v)
	}
	dir := e.staging(strconv.Itoa(v))
	if err := e.x.writeVersion(dir, e.Root, edition); err != nil {
		return err
	}
	before := e.x.selects(keys(e.x.current))
	e.x.current[v] = edition
	e.oracle.may(e.x, time.Now())
	retired := slices.DeleteFunc(before, func(v int) bool { return slices.Contains(e.x.selects(keys(e.x.current)), v) })
	for _, old := range retired {
		e.oracle.fails(e.x, old, time.Now())
	}
	if err := os.Rename(dir, filepath.Join(e.x.dir, strconv.Itoa(v))); err != nil {
		return err
	}
	if err := e.served(); err != nil {
		return err
	}
	e.wait(time.Second)
	if err := e.remove(v); err != nil {
		return err
	}
	for _, old := range retired {
		e.oracle.works(e.x, old, time.Now())
	}
	return nil
}

// remove takes a version out of the folder and waits until it does not serve.
func (e *episode) remove(version int) error {
	e.oracle.fails(e.x, version, time.Now())
	delete(e.x.current, version)
	e.oracle.may(e.x, time.Now())
	if err := os.Rename(filepath.Join(e.x.dir, strconv.Itoa(version)), e.staging("removed")); err != nil {
		return err
	}
	if e.Control == Explicit {
		if err := e.load(); err != nil {
			return err
		}
	}
	err := e.eventually(fmt.Sprintf("version %d refuses requests", version), func() bool { return e.probe(version).err != nil })
	if err != nil {
		return err
	}
	return e.served()
}

// versionRemoved removes a version that serves, and puts it back with new content.
type versionRemoved struct{}

func (versionRemoved) applies(m Model, _ Control) bool { return len(m.Versions) > 1 }

func (versionRemoved) play(e *episode) error {
	v := e.any()
	before := maps.Clone(e.x.current)
	if err := e.remove(v); err != nil {
		return err
	}
	e.wait(500 * time.Millisecond)
	dir, edition := e.staging(strconv.Itoa(v)), e.next()
	if err := e.x.writeVersion(dir, e.Root, edition); err != nil {
		return err
	}
	before[v] = edition
	e.x.current = before
	e.oracle.may(e.x, time.Now())
	if err := os.Rename(dir, filepath.Join(e.x.dir, strconv.Itoa(v))); err != nil {
		return err
	}
	if err := e.served(); err != nil {
		return err
	}
	e.oracle.works(e.x, v, time.Now())
	return nil
}
