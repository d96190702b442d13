package python

import (
	"encoding/json"
	"strconv"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/backend/child"
	"triton/server/infer"
)

// modelCommand is the body of frameControl.
type modelCommand struct {
	Do         string            `json:"do"` // "load", "unload" or "ready"
	Model      string            `json:"model"`
	Version    string            `json:"version"`
	Config     string            `json:"config"`
	Files      map[string][]byte `json:"files"`
	Dependents bool              `json:"dependents"`
}

// control runs a command on a goroutine of its own, because a load takes long.
func (e *events) control(p *child.Process, r *child.Reader) {
	question := r.Uint32()
	var o modelCommand
	if r.Err() != nil {
		return
	}
	if err := json.Unmarshal(r.Next(uint64(r.Len())), &o); err != nil {
		e.answer(p, question, err, "")
		return
	}
	go func() {
		text, err := e.runCommand(o)
		e.answer(p, question, err, text)
	}()
}

func (e *events) runCommand(o modelCommand) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(e.log.log, "panic while a Python model controlled another model", p, "model", e.log.model, "instance", e.log.instance)
			err = status.New(status.Internal, "internal error; the server's log has the details")
		}
	}()
	c := e.model.spec.Controller
	switch {
	case c == nil:
		return "", status.New(status.Unavailable, "this server has no other models")
	case o.Do == "load" && o.Model == e.model.spec.Name && e.starting.Load():
		return "", status.New(status.Unavailable, "model '%s' cannot load itself while it is loading", o.Model)
	case o.Do == "load":
		return "", c.Load(e.life, o.Model, options(o))
	case o.Do == "unload":
		return "", c.Unload(e.life, o.Model, o.Dependents)
	}
	if err := checkVersion(o.Version); err != nil {
		return "", err
	}
	if ready, err := c.ModelReady(o.Model, o.Version); err != nil || !ready {
		return "", nil // an unknown model is not ready, as in Triton
	}
	return "1", nil
}

func options(o modelCommand) infer.LoadOptions {
	options := infer.LoadOptions{Files: o.Files}
	if o.Config != "" {
		options.Config = &o.Config
	}
	return options
}

// checkVersion checks a version as NVIDIA's backend does, which uses stol.
func checkVersion(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return status.New(status.InvalidArg, "failed to get model version from specified version string '%s' (details: stol), version should be an integral value > 0", text)
	case n < 0:
		return status.New(status.InvalidArg, "failed to get model version from specified version string '%s', version should be an integral value > 0", text)
	}
	return nil
}
