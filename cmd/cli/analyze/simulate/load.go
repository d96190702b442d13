package simulate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"triton/analyzer/capacity"
	"triton/perf/recording"
	"triton/server/scheduler/simulate"
)

// load is one load: arrivals, or clients that wait for their answers.
type load struct {
	name     string
	rate     float64 // 0: a trace or clients
	clients  int
	rows     int
	requests int
	arrivals []capacity.Arrival
}

func (l load) run(p capacity.Planner, s capacity.Setting) capacity.Outcome {
	if l.clients > 0 {
		return p.RunClosed(s, l.clients, l.rows, l.requests)
	}
	return p.Run(s, l.arrivals)
}

// loads returns the loads that the flags name.
func (a *arguments) loads(w *work) ([]load, error) {
	given := 0
	for _, text := range []string{a.rates, a.concurrencies, a.trace} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("give one load: --rate, --trace, or for simulate --concurrency")
	}
	if !slices.Contains([]string{"poisson", "constant"}, a.pattern) {
		return nil, fmt.Errorf("--arrivals: %q is neither poisson nor constant", a.pattern)
	}
	if err := (capacity.Load{Rate: 1, Rows: a.rows, Requests: a.requests}).Check(); err != nil {
		return nil, err
	}
	switch {
	case a.trace != "":
		return a.traceLoad(w)
	case a.concurrencies != "":
		return a.closedLoads()
	}
	return a.rateLoads()
}

func (a *arguments) rateLoads() ([]load, error) {
	var all []load
	for text := range strings.SplitSeq(a.rates, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("--rate: %q is not a number", text)
		}
		l := capacity.Load{Rate: rate, Constant: a.pattern == "constant", Rows: a.rows, Requests: a.requests, Seed: a.seed}
		if err := l.Check(); err != nil {
			return nil, fmt.Errorf("--rate: %w", err)
		}
		all = append(all, load{name: strconv.FormatFloat(rate, 'f', -1, 64) + "/s", rate: rate, rows: a.rows, requests: a.requests, arrivals: l.Arrivals()})
	}
	return all, nil
}

func (a *arguments) closedLoads() ([]load, error) {
	clients, err := integers(a.concurrencies)
	if err != nil {
		return nil, fmt.Errorf("--concurrency: %w", err)
	}
	all := make([]load, len(clients))
	for i, n := range clients {
		all[i] = load{name: fmt.Sprintf("%d clients", n), clients: n, rows: a.rows, requests: a.requests}
	}
	return all, nil
}

func (a *arguments) traceLoad(w *work) ([]load, error) {
	if !(a.speed > 0 && a.speed <= 1e6) {
		return nil, fmt.Errorf("--speed: %g is not above 0 and at most 1e6", a.speed)
	}
	f, err := os.Open(a.trace)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	defer f.Close()
	batching := slices.Max(w.space.MaxBatch) > 1
	arrivals, err := readTrace(f, a.model, batching)
	if err != nil {
		return nil, fmt.Errorf("--trace %s: %w", a.trace, err)
	}
	if len(arrivals) == 0 {
		return nil, fmt.Errorf("--trace %s: no requests", a.trace)
	}
	first := arrivals[0].At
	for i := range arrivals {
		arrivals[i].At = time.Duration(float64(arrivals[i].At-first) / a.speed)
	}
	return []load{{name: "trace", arrivals: arrivals, requests: len(arrivals)}}, nil
}

// readTrace reads a recording of triton perf record, or the lines of the simulator.
func readTrace(in io.Reader, model string, batching bool) ([]capacity.Arrival, error) {
	r := bufio.NewReaderSize(in, 4096)
	start, err := r.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if recording.Is(start) {
		return readRecording(r, model, batching)
	}
	all, err := simulate.ReadTrace(r)
	if err != nil {
		return nil, err
	}
	arrivals := make([]capacity.Arrival, len(all))
	for i, a := range all {
		arrivals[i] = capacity.Arrival{At: a.At, Rows: a.Rows, Priority: a.Priority, Timeout: a.Timeout}
	}
	return arrivals, nil
}

// readRecording reads the requests of one model. Of models with batching, the rows of a request
// are the first dimension of its inputs.
func readRecording(r io.Reader, model string, batching bool) ([]capacity.Arrival, error) {
	var all []capacity.Arrival
	var models []string
	_, err := recording.Read(r, func(_ int, q *recording.Request) error {
		if !slices.Contains(models, q.Model) {
			models = append(models, q.Model)
		}
		if model != "" && q.Model != model {
			return nil
		}
		rows := 1
		if batching && len(q.Inputs) > 0 && len(q.Inputs[0].Shape) > 0 {
			rows = int(min(q.Inputs[0].Shape[0], 1<<20))
		}
		all = append(all, capacity.Arrival{At: q.Arrival(), Rows: rows, Priority: q.Priority, Timeout: time.Duration(min(q.TimeoutUs, 1<<40)) * time.Microsecond})
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case model == "" && len(models) > 1:
		return nil, fmt.Errorf("the requests are of the models %s: name one with -m", strings.Join(models, ", "))
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].At < all[j].At })
	return all, nil
}
