package memory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"triton/analyzer/bench"
	"triton/analyzer/memory/footprint"
	"triton/analyzer/trial"
)

var _ footprint.Subject = (*run)(nil)

// Room returns the memory of the host and of each GPU.
func (r *run) Room(context.Context) (map[footprint.Place]footprint.Room, error) {
	rooms := make(map[footprint.Place]footprint.Room)
	available, err := r.Host.Available()
	if err == nil {
		room := footprint.Room{Total: available.Bytes, Usable: available.Bytes, Origin: available.Origin, Shared: true}
		if !r.onGPU() {
			r.limit(&room)
		}
		rooms[footprint.Host] = room
	} else if r.meter == nil {
		r.warnOnce(fmt.Sprintf("the memory of this machine is not known: %v", err))
	}
	if r.meter == nil {
		return rooms, nil
	}
	for _, d := range r.meter.Rooms() {
		room := footprint.Room{Total: d.Total, Usable: d.Usable, Origin: "free on the GPU", Foreign: d.Foreign}
		if r.onGPU() {
			r.limit(&room)
		}
		rooms[footprint.Place(d.UUID)] = room
	}
	return rooms, nil
}

// limit applies the user's memory limit.
func (r *run) limit(room *footprint.Room) {
	if r.Memory > 0 && r.Memory < room.Usable {
		room.Limit, room.Origin = r.Memory, "as given"
	}
}

func (r *run) warnOnce(text string) {
	for _, w := range r.result.Warnings {
		if w == text {
			return
		}
	}
	r.warn("%s", text)
}

// Start starts a server over a copy of the model's configuration.
func (r *run) Start(ctx context.Context, instances int) (footprint.Server, error) {
	r.starts++
	setup := bench.Setup{Repository: filepath.Join(r.dir, strconv.Itoa(r.starts))}
	if instances == 0 {
		if err := os.Mkdir(setup.Repository, 0o755); err != nil {
			return nil, err
		}
	} else {
		setup.Model = r.Model
		if err := r.model.overlay(setup.Repository, variantConfig(r.shared, instances)); err != nil {
			return nil, err
		}
	}
	kills := r.Host.Kills()
	server, err := r.Launcher.Launch(ctx, setup)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrNoServer, err)
		if instances == 0 {
			return nil, err
		}
		return nil, r.classify(err, kills, false)
	}
	return &tested{run: r, server: server, instances: instances, kills: kills}, nil
}

// classify returns a failure with its class.
func (r *run) classify(err error, kills uint64, loaded bool) *footprint.Failure {
	class := trial.ClassifyFailure(trial.Evidence{
		Text: err.Error(), Kills: r.Host.Kills() - min(kills, r.Host.Kills()), Loaded: loaded, GPU: r.onGPU(),
	})
	return &footprint.Failure{Class: class, Err: err}
}
