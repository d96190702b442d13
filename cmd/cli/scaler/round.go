package scaler

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxParallel bounds how many replicas are read at the same time.
const maxParallel = 64

// replicaState is what one replica said in the latest round and before it.
type replicaState struct {
	before, now *reading // now is nil if it did not answer
	err         error
}

// round is one reading of all replicas. It does not change.
type round struct {
	replicas map[string]*replicaState
	failed   error // the replicas are not known
}

// read reads all replicas at the same time.
func (o *reader) read(ctx context.Context, before *round) *round {
	addresses, err := o.find(ctx)
	if err != nil {
		return &round{failed: fmt.Errorf("find the replicas: %w", err)}
	}
	r := &round{replicas: map[string]*replicaState{}}
	var all sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for _, address := range addresses {
		if r.replicas[address] != nil {
			continue
		}
		p := &replicaState{}
		r.replicas[address] = p
		if before != nil {
			if e := before.replicas[address]; e != nil {
				p.before = e.now
			}
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p.now, p.err = o.readOne(ctx, address)
		})
	}
	all.Wait()
	return r
}

func (o *reader) find(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	return o.Replicas(ctx)
}

// readOne reads one replica. Its time starts when its turn comes, so that many silent replicas do not take the
// time of those behind them.
func (o *reader) readOne(ctx context.Context, address string) (*reading, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	return o.Read(ctx, address)
}

// err returns why nothing is known about the work: the replicas are not known, or none answers. No
// replica at all is no error.
func (r *round) err() error {
	if r.failed != nil {
		return r.failed
	}
	var why error
	for address, p := range r.replicas {
		if p.err == nil {
			return nil
		}
		why = fmt.Errorf("%s: %w", address, p.err)
	}
	if why != nil {
		why = fmt.Errorf("none of %d replicas answers, such as %w", len(r.replicas), why)
	}
	return why
}

// overAll adds a value of the replicas that answer. Those that do not answer count as the mean of the
// others, so that neither a dead replica nor its return changes the number of replicas.
func (r *round) overAll(value func(p *replicaState) (float64, bool)) (float64, error) {
	if len(r.replicas) == 0 {
		return 0, nil
	}
	sum, known := 0.0, 0
	for _, p := range r.replicas {
		if p.now == nil {
			continue
		}
		if v, ok := value(p); ok {
			sum += v
			known++
		}
	}
	if known == 0 {
		return 0, errTwice
	}
	return sum * float64(len(r.replicas)) / float64(known), nil
}

func (r *round) sum(t *trigger, of func(c *counts) float64) (float64, error) {
	return r.overAll(func(p *replicaState) (v float64, _ bool) {
		p.now.each(t, func(_ string, c *counts) { v += of(c) })
		return v, true
	})
}

func (r *round) waiting() (float64, error) {
	return r.overAll(func(p *replicaState) (float64, bool) { return p.now.Waiting, true })
}

func (r *round) inFlight(t *trigger) (float64, error) {
	for _, p := range r.replicas {
		if p.now != nil && !p.now.hasInFlight {
			return 0, errors.New("the server does not count requests in flight: use the metric pending")
		}
	}
	return r.sum(t, func(c *counts) float64 { return c.InFlight })
}

// rate returns the requests per second.
func (r *round) rate(t *trigger) (float64, error) {
	return r.overAll(func(p *replicaState) (float64, bool) {
		if p.before == nil || !p.now.at.After(p.before.at) {
			return 0, false
		}
		success, failure, _ := p.now.since(p.before, t)
		return (success + failure) / p.now.at.Sub(p.before.at).Seconds(), true
	})
}

// queueDelay returns the mean time that requests waited since the reading before, in milliseconds.
func (r *round) queueDelay(t *trigger) (float64, error) {
	requests, micros, known := 0.0, 0.0, len(r.replicas) == 0
	for _, p := range r.replicas {
		if p.now == nil || p.before == nil {
			continue
		}
		known = true
		success, _, us := p.now.since(p.before, t)
		requests, micros = requests+success, micros+us
	}
	switch {
	case !known:
		return 0, errTwice
	case requests == 0:
		return 0, nil
	}
	return micros / requests / 1000, nil
}
