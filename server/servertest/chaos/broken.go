package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"triton/pkg/client"
)

// settled is longer than the time between two polls, so that the server has seen the folder.
const settled = 2500 * time.Millisecond

// refused lets the server see a folder that it cannot load. The version that serves goes on.
func (e *episode) refused() error {
	if e.Control == Poll {
		time.Sleep(settled)
		return nil
	}
	if err := e.client().Load(e.ctx, e.x.Name, client.Override{}); err == nil {
		return errors.New("the load of a broken model succeeded")
	}
	return nil
}

// brokenConfig makes the configuration unreadable for a while. No request may fail.
type brokenConfig struct{}

func (brokenConfig) applies(m Model, _ Control) bool { return m.Name != "" }

func (brokenConfig) play(e *episode) error {
	bad := []string{"max_batch_size: many", "backend: \"onnxruntime\" {", "no_such_field: 1", "backend: \"none\"\nmax_batch_size: 8\n" + e.x.policy}
	if err := e.configure(bad[e.rng.IntN(len(bad))]); err != nil {
		return err
	}
	if err := e.refused(); err != nil {
		return err
	}
	if err := e.configure(e.x.config); err != nil {
		return err
	}
	return e.served()
}

// configure replaces config.pbtxt.
func (e *episode) configure(text string) error {
	return e.replace(filepath.Join(e.x.dir, "config.pbtxt"), []byte(text))
}

// brokenFile makes a model file unreadable for a while, and then new. No request may fail.
type brokenFile struct{}

func (brokenFile) applies(m Model, _ Control) bool { return m.numbered() }

func (brokenFile) play(e *episode) error {
	v := e.any()
	name, _ := e.x.file(e.Root, 0)
	if err := e.replace(filepath.Join(e.x.dir, strconv.Itoa(v), name), []byte("this is no model (")); err != nil {
		return err
	}
	if err := e.refused(); err != nil {
		return err
	}
	if err := e.write(v, e.next()); err != nil {
		return err
	}
	return e.served()
}

// halfWritten writes a model file in two parts, in place or as a new version. Requests fail only if
// they name a version that the policy takes out of service for the new one.
type halfWritten struct{}

func (halfWritten) applies(m Model, _ Control) bool { return m.kind == "onnx" || m.kind == "sequence" }

func (halfWritten) play(e *episode) error {
	v, edition := e.any(), e.next()
	added := e.x.policy != "" && e.rng.IntN(2) == 0
	if added {
		v = last(e.x) + 1
	}
	dir := filepath.Join(e.x.dir, strconv.Itoa(v))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name, content := e.x.file(e.Root, edition)
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content[:1+e.rng.IntN(len(content)-1)]); err != nil {
		return err
	}
	if err := e.refused(); err != nil {
		return err
	}
	retired := e.holds(v, edition)
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	if err := e.served(); err != nil {
		return fmt.Errorf("version %d, half-written: %w", v, err)
	}
	if !added {
		return nil
	}
	if err := e.remove(v); err != nil {
		return err
	}
	e.work(retired)
	return nil
}

// last returns the highest version in the folder.
func last(x *subject) int {
	all := keys(x.current)
	return all[len(all)-1]
}
