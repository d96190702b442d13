package repository

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"triton/pkg/log"
	"triton/server/repository/state"
	"triton/server/store"
)

// pollLoads are the part of a poll that may go on after it: its loads. Each group of models that ensembles
// connect is an operation of its own, which holds their names. So a load that takes long, or hangs,
// keeps the later polls from these models only.
type pollLoads struct {
	r       *Repository
	ctx     context.Context // of the loads
	running *sync.WaitGroup
}

// startGroups starts the changes that follow from what a poll has found, a goroutine for each group.
func (p *pollLoads) startGroups(found []state.Finding, removed []store.ID) {
	r := p.r
	var same []state.Finding
	g := groups{of: map[string]*group{}}
	for _, f := range found {
		if f.Content == nil && f.Err == nil && !f.Ambiguous && f.Listed {
			same = append(same, f)
			continue
		}
		names := []string{f.ID.Name}
		if f.Content != nil {
			for _, step := range f.Content.ComposingModels {
				names = append(names, step.Name)
			}
		}
		at := g.joined(names, r.connected)
		at.found = append(at.found, f)
	}
	for _, id := range removed {
		at := g.joined([]string{id.Name}, r.connected)
		at.removed = append(at.removed, id)
	}
	// These are not loaded: only who wants them, and that they can be read, is recorded. r.mu suffices for that.
	r.carryOut(p.ctx, same, nil, false)
	for _, name := range slices.Sorted(maps.Keys(g.of)) {
		if at := g.of[name]; at.names[0] == name { // once for each group
			p.startGroup(at)
		}
	}
}

// group is the changes of models that ensembles connect.
type group struct {
	names   []string
	found   []state.Finding
	removed []store.ID
}

// groups are the groups by the names of their models.
type groups struct{ of map[string]*group }

// joined returns the group of some names and of all that are connected with them. The groups of these
// become one.
func (g groups) joined(names []string, connected func(string) []string) *group {
	into := &group{}
	for _, name := range names {
		if g.of[name] == into {
			continue
		}
		if other := g.of[name]; other != nil { // it has all that is connected with the name already
			g.move(other, into)
			continue
		}
		for _, near := range append(connected(name), name) {
			switch other := g.of[near]; {
			case other == nil:
				into.names = append(into.names, near)
				g.of[near] = into
			case other != into:
				g.move(other, into)
			}
		}
	}
	return into
}

func (g groups) move(from, into *group) {
	for _, name := range from.names {
		g.of[name] = into
	}
	into.names = append(into.names, from.names...)
	into.found = append(into.found, from.found...)
	into.removed = append(into.removed, from.removed...)
}

// startGroup carries out the changes of a group, unless another operation has one of its models, or has
// connected others with them meanwhile: then a later poll does.
func (p *pollLoads) startGroup(g *group) {
	r := p.r
	free, ok := r.tryConnected(&operation{}, g.names)
	if !ok {
		for _, f := range g.found {
			delete(r.lastSeen, f.ID)
			r.opts.Log.Debug(fmt.Sprintf("model '%s' was changed while it is being loaded; a later poll loads it", f.ID))
		}
		r.leftBehind.Store(true)
		return
	}
	end := func() {
		for _, f := range g.found {
			if f.Content != nil {
				f.Content.Folder.Release()
			}
		}
		free()
	}
	for _, f := range g.found {
		if f.Content != nil {
			f.Content.Folder.Hold()
		}
	}
	started := p.spawn(func() {
		defer end()
		r.carryOut(p.ctx, g.found, g.removed, false)
	})
	if !started {
		end()
	}
}

// spawn runs a part of the poll on a goroutine of its own. It returns false when the repository drains.
func (p *pollLoads) spawn(do func()) bool {
	r := p.r
	if !r.tasks.begin() {
		return false
	}
	p.running.Go(func() {
		defer r.tasks.done()
		p.contained(do)
		if r.leftBehind.Swap(false) {
			select {
			case r.loadEnded <- struct{}{}:
			default: // KeepPolling knows already
			}
		}
	})
	return true
}

// contained runs a part of the poll. A panic ends that part only.
func (p *pollLoads) contained(do func()) {
	defer func() {
		if v := recover(); v != nil {
			log.Panicked(p.r.opts.Log, "panic while changing models", v)
		}
	}()
	do()
}
