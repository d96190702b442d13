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
	retired := e.holds(v, edition)
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
	e.work(retired)
	return nil
}

// holds notes that the model's folder is about to have a version, or other content of it. It returns the
// versions that the policy takes out of service for it: from now on requests that name them may fail.
func (e *episode) holds(version int, edition int64) (retired []int) {
	before := e.x.selects(keys(e.x.current))
	e.x.current[version] = edition
	now, at := e.x.selects(keys(e.x.current)), time.Now()
	e.oracle.may(e.x, at)
	for _, v := range before {
		if !slices.Contains(now, v) {
			e.oracle.fails(e.x, v, at)
			retired = append(retired, v)
		}
	}
	return retired
}

// work notes that versions that were out of service serve again.
func (e *episode) work(versions []int) {
	for _, v := range versions {
		e.oracle.works(e.x, v, time.Now())
	}
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
