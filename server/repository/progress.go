package repository

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"triton/server/readiness"
	"triton/server/store"
)

// progress records which versions load, and how long the start took.
type progress struct {
	mu         sync.Mutex
	start, end time.Time // of the last start; end is zero while it runs
	loading    map[loadingVersion]time.Time
}

type loadingVersion struct {
	id     store.ID
	number int64
}

func (p *progress) started() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start, p.end = time.Now(), time.Time{}
}

func (p *progress) finished() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = time.Now()
}

// begin records that a version loads until the returned function is called.
func (p *progress) begin(id store.ID, number int64) (end func()) {
	v := loadingVersion{id, number}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loading == nil {
		p.loading = map[loadingVersion]time.Time{}
	}
	p.loading[v] = time.Now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.loading, v)
	}
}

// slowLoad is how long a load takes before it is told in the log and the index, and no longer counts for
// LoadThreads: if it hangs, the others go on.
const slowLoad = time.Minute

// tellIfSlow logs that a load takes long, if it does before the returned function is called.
func (r *Repository) tellIfSlow(id store.ID, number int64, p *loadPlace) (end func()) {
	t := time.AfterFunc(slowLoad, func() {
		p.release()
		r.opts.Log.Warn(fmt.Sprintf("model '%s' version %d has been loading for %v; what serves is not affected, and other models load meanwhile",
			id, number, slowLoad))
	})
	return func() { t.Stop() }
}

// slow describes the loads of a model that take long; empty if none does.
func (p *progress) slow(id store.ID) (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for v, since := range p.loading {
		if took := time.Since(since); v.id == id && took >= slowLoad {
			all = append(all, fmt.Sprintf("version %d has been loading for %v", v.number, took.Round(time.Second)))
		}
	}
	slices.Sort(all)
	return all
}

// report returns the time of the start and the versions that load, the oldest load first. activity returns
// what the store does for a model.
func (p *progress) report(activity func(store.ID) string) readiness.Start {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var s readiness.Start
	switch {
	case p.start.IsZero():
	case p.end.IsZero():
		s.Seconds = now.Sub(p.start).Seconds()
	default:
		s.Seconds = p.end.Sub(p.start).Seconds()
	}
	for v, since := range p.loading {
		s.Loading = append(s.Loading, readiness.Loading{
			Name: v.id.Name, Version: strconv.FormatInt(v.number, 10), Seconds: now.Sub(since).Seconds(), Activity: activity(v.id),
		})
	}
	sort.Slice(s.Loading, func(i, j int) bool { return s.Loading[i].Seconds > s.Loading[j].Seconds })
	return s
}
