package perf

import (
	"context"

	"triton/perf/load"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
)

// requests are the prepared requests of a batch size.
type requests struct {
	batch    int
	prepared [][]*lane.Prepared // by stream and step
	regions  *regions           // nil without shared memory
	size     int                // bytes of the largest
}

// release frees the requests and their shared memory after the last send.
func (r *run) release(ctx context.Context, q *requests) {
	if err := q.regions.close(ctx); err != nil {
		r.notice("Unable to unregister all shared memory regions: " + err.Error())
	}
	for _, stream := range q.prepared {
		for _, p := range stream {
			p.Release()
		}
	}
}

// prepareRequests encodes the request of every step once. The caller releases them, also after an
// error.
func (r *run) prepareRequests(ctx context.Context, batch int) (*requests, error) {
	all := &requests{batch: batch, regions: r.regions(batch)}
	streams := r.set.Streams
	if !r.model.sequence {
		streams = streams[:1]
	}
	for stream := range streams {
		all.prepared = append(all.prepared, nil)
		for step := range streams[stream] {
			p, err := r.prepareRequest(ctx, all, stream, step)
			if err != nil {
				return all, err
			}
			all.prepared[stream] = append(all.prepared[stream], p)
			all.size = max(all.size, p.Size())
		}
	}
	return all, nil
}

func (r *run) prepareRequest(ctx context.Context, q *requests, stream, step int) (*lane.Prepared, error) {
	req, err := r.set.Request(stream, step, q.batch)
	if err != nil {
		return nil, err
	}
	req.Parameters = append(req.Parameters, r.settings.Parameters...)
	req.EmptyFinal = r.client.Protocol() == client.GRPC
	if q.regions != nil {
		p, err := q.regions.prepare(ctx, req, stream, step, r.model.sequence)
		if err != nil {
			return nil, &SetupError{What: sharingFailed, Err: err, Data: true}
		}
		return p, nil
	}
	if r.model.sequence {
		return r.client.PrepareSequence(req)
	}
	return r.client.Prepare(req)
}

// newGenerator returns the generator of the run's mode.
func (r *run) newGenerator(ctx context.Context, q *requests) load.Generator {
	o := load.Options{
		Dialer: r.client,
		Source: &load.Steps{Prepared: q.prepared[0], Batch: q.batch},
		Live:   r.settings.Live,
		Max:    r.settings.MaxInFlight,
		Alarm:  r.deps.Alarm,

		TolerateErrors: r.settings.TolerateErrors,
	}
	if r.settings.Mode == FixedSchedule {
		r.entries = newEntries(q.prepared[0], faster(r.set.Times(), r.settings.Speed))
		o.Source = r.entries
	}
	if r.model.sequence {
		o.Source = load.NewSequences(r.settings.sequenceOptions(q.prepared))
		o.Max = r.settings.Sequences.Slots
	}
	if r.set.HasExpected() {
		o.Check = func(sent *load.Request, x *lane.Exchange) error {
			var resp kserve.Response
			defer resp.Reset()
			if err := r.client.Decode(x, &resp); err != nil {
				return err
			}
			if err := q.regions.fill(&resp, sent.Stream, sent.Step); err != nil {
				return err
			}
			return r.set.Check(&resp, sent.Stream, sent.Step, q.batch)
		}
	}
	if r.recorder != nil {
		o.Record = r.recorder.add
	}
	switch m := r.settings.Mode; {
	case m.Rate():
		return load.NewPaced(ctx, o)
	case m == Sessions:
		return load.NewSessions(ctx, o, r.sessions.open())
	case m == Periodic:
		return load.NewPeriodic(ctx, o, load.PeriodicOptions{
			First: int(r.settings.Range.Start), Step: int(r.settings.Range.Step), Period: r.settings.Period,
		})
	}
	return load.NewClosed(ctx, o)
}

// demand returns what a generator has to send for a load. total 0 means no end.
func (r *run) demand(at Load, total int) load.Demand {
	d := load.Demand{Total: total}
	switch {
	case at.Mode == Concurrency:
		d.Concurrency = at.Concurrency()
	case at.Mode == Sessions:
		d.Concurrency = int(at.Value)
	case at.Mode == Periodic:
	case at.Mode == Intervals:
		d.Schedule = load.Intervals(r.settings.Intervals)
	case at.Mode == FixedSchedule:
		d.Schedule = r.entries.take(total)
	case r.settings.Distribution == Poisson:
		d.Schedule = load.Poisson(at.Value, r.settings.Seed)
	default:
		d.Schedule = load.Constant(at.Value)
	}
	return d
}
