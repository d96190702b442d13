package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"triton/pkg/client"
)

// kinds are all kinds of episodes, in the order in which plans choose from them. New ones are
// added at the end.
var kinds = []struct {
	name string
	kind
}{
	{"update", update{}},
	{"same", same{}},
	{"broken config", brokenConfig{}},
	{"broken file", brokenFile{}},
	{"half-written", halfWritten{}},
	{"new version", newVersion{}},
	{"version removed", versionRemoved{}},
	{"unload", unload{}},
	{"race", race{}},
	{"folder", folder{}},
	{"override", override{}},
	{"instances", instances{}},
	{"kill", kill{}},
	{"log settings", logSettings{}},
	{"trace settings", traceSettings{}},
	{"cancel", cancels{}},
	{"slow reader", slowReader{}},
	{"weights", weights{}},
	{"store update", storeUpdate{}},
	{"store slow", storeSlow{}},
	{"store gone", storeGone{}},
	{"idle", idle{}},
}

// deadline is the time in which the server must have made a change: a poll, and loads on a
// busy machine.
const deadline = time.Minute

// clock is how times are printed.
const clock = "15:04:05.000"

// episode is one event while it is played.
type episode struct {
	*world
	Event
	x   *subject // nil: the episode is about the server
	ctx context.Context
	rng *rand.Rand
}

// storm plays the plan under traffic. Episodes of one model run one after the other, so one
// may begin late; those that could not begin in time are left out.
func (w *world) storm(ctx context.Context, into *latencies) error {
	calling, stop := context.WithCancel(ctx)
	defer stop()
	traffic := make(chan error, 1)
	go func() { traffic <- w.trafficUntil(ctx, calling, into) }()

	start, played := time.Now(), map[string][]Event{}
	for _, e := range w.Plan.Events {
		played[e.Model] = append(played[e.Model], e)
	}
	var all sync.WaitGroup
	for _, events := range played {
		all.Go(func() {
			for _, e := range events {
				if time.Since(start) > w.Plan.Duration || ctx.Err() != nil {
					return
				}
				time.Sleep(time.Until(start.Add(e.At)))
				w.episode(ctx, start, e)
			}
		})
	}
	time.Sleep(w.Plan.Duration)
	all.Wait()
	stop()
	return <-traffic
}

// episode plays an event and writes down what became of it.
func (w *world) episode(ctx context.Context, start time.Time, e Event) {
	limited, cancel := context.WithTimeout(ctx, 3*deadline)
	defer cancel()
	x := &episode{world: w, Event: e, x: w.models[e.Model], ctx: limited, rng: rand.New(rand.NewPCG(e.Seed, 1))}
	begun := time.Now()
	entry := happened{Event: e, Begun: begun.Sub(start)}
	err := fmt.Errorf("there is no kind %q", e.Kind)
	for _, k := range kinds {
		if k.name == e.Kind {
			err = k.play(x)
		}
	}
	if entry.Took = time.Since(begun); err != nil {
		entry.Error = err.Error()
		w.oracle.wrongf("%s %s of %s, begun at %v: %v", begun.Format(clock), e.Kind, e.Model, entry.Begun, err)
	}
	w.journal.write(entry)
}

// load loads the model, which must work.
func (e *episode) load() error {
	if err := e.client().Load(e.ctx, e.x.Name, client.Override{}); err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	return nil
}

// client returns a client of either protocol.
func (e *episode) client() *client.Client {
	if e.rng.IntN(2) == 0 {
		return e.admin.grpc
	}
	return e.admin.http
}

// wait waits for up to d.
func (e *episode) wait(d time.Duration) {
	select {
	case <-time.After(time.Duration(e.rng.Int64N(int64(d)))):
	case <-e.ctx.Done():
	}
}

// eventually waits until something is so.
func (e *episode) eventually(what string, so func() bool) error {
	for until := time.Now().Add(deadline); ; {
		if so() {
			return nil
		}
		if time.Now().After(until) || e.ctx.Err() != nil {
			return fmt.Errorf("%s: not within %v", what, deadline)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// probe asks a version of the model once.
func (e *episode) probe(version int) answer {
	values := []int64{e.rng.Int64N(1 << 40)}
	if e.x.kind == "sequence" {
		return e.probeSequence(version, values[0])
	}
	return e.ask(e.ctx, e.client(), e.x.Model, version, "probe", values)
}

// probeSequence asks with a sequence of one request.
func (e *episode) probeSequence(version int, value int64) answer {
	a := answer{model: e.x.Name, asked: version, sent: time.Now()}
	r := request(e.x.Model, version, "probe", []int64{value})
	r.Sequence = client.Sequence{ID: e.rng.Uint64()>>1 | 1, Start: true, End: true}
	resp, err := e.client().Infer(e.ctx, r)
	a.received, a.err = time.Now(), err
	if err == nil {
		if a.version, a.edition, err = read(e.x.Model, "probe", []int64{value}, resp); err != nil {
			e.oracle.wrongf("%s: wrong answer to a probe: %v", e.x.Name, err)
		}
	}
	return a
}

// served brings what the folder contains to service, and returns when it serves. Other content
// may serve until then.
func (e *episode) served() error {
	e.oracle.may(e.x, time.Now())
	if e.Control == Explicit {
		if err := e.load(); err != nil {
			return err
		}
	}
	for _, v := range e.x.selects(keys(e.x.current)) {
		want := e.x.current[v]
		right := func(a answer) bool { return a.err == nil && (a.edition == want || e.x.source != "") }
		if e.Control == Explicit { // the load has returned
			if a := e.probe(v); !right(a) {
				return fmt.Errorf("after the load version %d answers with edition %d (%w), not %d", v, a.edition, a.err, want)
			}
			continue
		}
		if err := e.eventually(fmt.Sprintf("edition %d of version %d serves", want, v), func() bool { return right(e.probe(v)) }); err != nil {
			return err
		}
	}
	e.oracle.serves(e.x, time.Now())
	return nil
}
