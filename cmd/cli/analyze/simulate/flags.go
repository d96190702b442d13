package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/analyzer/capacity"
	"triton/cmd/cli/flags"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/modelconfig"
)

// arguments holds the values of the flags before they are parsed.
type arguments struct {
	curves                            []string
	model, config                     string
	rates, pattern, trace             string
	rows, requests                    int
	speed                             float64
	seed                              uint64
	batches, delays, preferred        string
	queueSize                         int
	queueTimeout, overhead            time.Duration
	instances, devices, concurrencies string
	p99                               time.Duration
	refused                           float64
	perDevice, mostInstances          int
	result                            flags.Output
}

// bind defines the flags that both commands have.
func (a *arguments) bind(f *flags.Set) {
	f.SortFlags = false
	f.StringArrayVar(&a.curves, "curve", nil, "file with the cost curve; may be repeated, and have the number of instances that ran together before it: 4@busy.json; required")
	f.StringVarP(&a.model, "model", "m", "", "model to take from the files, if they have several")
	f.StringVar(&a.config, "model-config", "", "config.pbtxt of the model: its batching, queue policy and instances are the defaults")
	f.StringVar(&a.rates, "rate", "", "requests per second")
	f.StringVar(&a.pattern, "arrivals", "poisson", "times between the requests of --rate: poisson (random) or constant")
	f.IntVar(&a.rows, "rows", 1, "rows of each request")
	f.IntVar(&a.requests, "requests", 100_000, "number of requests")
	f.Uint64Var(&a.seed, "seed", 1, "seed of the random times")
	f.StringVar(&a.trace, "trace", "", "file with the requests and their times: of triton perf record, or CSV or JSON lines with at_us, rows, priority, timeout_us")
	f.Float64Var(&a.speed, "speed", 1, "factor by which the requests of --trace come faster")
	f.StringVar(&a.batches, "max-batch-size", "", "largest batches (default that of --model-config, else the largest of the curve)")
	f.StringVar(&a.delays, "queue-delay", "", "queue delays of dynamic batching, in microseconds or with a unit; off is no dynamic batching (default that of --model-config, else 0)")
	f.StringVar(&a.preferred, "preferred-batch-size", "", "preferred batch sizes")
	f.IntVar(&a.queueSize, "queue-size", 0, "requests that may wait; 0 is that of --model-config, else no limit")
	f.Var(flags.Duration(&a.queueTimeout, 0, time.Microsecond), "queue-timeout", "time after which a waiting request is refused, in microseconds or with a unit; 0 is that of --model-config, else none")
	f.Var(flags.Duration(&a.overhead, 0, time.Microsecond), "overhead", "added to each latency for network and protocol, in microseconds or with a unit")
	a.result.Bind(f, forms)
}

func (a *arguments) bindSimulate(f *flags.Set) {
	f.StringVar(&a.instances, "instances", "", "instances on each device (default that of --model-config, else 1)")
	f.StringVar(&a.devices, "devices", "1", "devices")
	f.StringVar(&a.concurrencies, "concurrency", "", "clients that each wait for their answer, in place of --rate")
}

func (a *arguments) bindCapacity(f *flags.Set) {
	f.Var(flags.Duration(&a.p99, 0, time.Millisecond), "p99", "highest 99th percentile of the latency, in milliseconds or with a unit: 50ms; required")
	f.Float64Var(&a.refused, "refused", 0, "percent of the requests that the queue policy may refuse")
	f.IntVar(&a.perDevice, "instances-per-device", 0, "instances that fit a device; 0 is all on one")
	f.IntVar(&a.mostInstances, "max-instances", 1024, "most instances to consider")
}

// work is what the arguments ask for, apart from the load.
type work struct {
	model   string
	planner capacity.Planner
	space   capacity.Space
	targets flags.OutputTargets
}

// work parses the arguments. The error joins all mistakes.
func (a *arguments) work() (*work, error) {
	var errs []error
	w := &work{model: a.model}
	var err error
	if w.targets, err = a.result.Targets(forms); err != nil {
		errs = append(errs, err)
	} else if err := w.targets.Check(); err != nil {
		errs = append(errs, err)
	}
	if len(w.targets) == 0 {
		w.targets = flags.OutputTargets{{Form: flags.TextForm.Name, File: "-"}}
	}
	if len(a.curves) == 0 {
		errs = append(errs, errors.New("--curve FILE is required: the cost of the batches"))
	} else if w.planner.Curve, err = readCurve("--curve", a.curves, a.model); err != nil {
		errs = append(errs, err)
	}
	if a.overhead < 0 || a.queueTimeout < 0 || a.queueSize < 0 {
		errs = append(errs, errors.New("--overhead, --queue-timeout and --queue-size are not negative"))
	}
	w.planner.Queue, w.planner.Overhead = queue{}, a.overhead
	base, err := a.base()
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	w.model = cmp.Or(w.model, base.GetName())
	w.planner.Base = base
	return w, a.settings(w, base)
}

// base returns the configuration that settings start from.
func (a *arguments) base() (*inferencepb.ModelConfig, error) {
	base := &inferencepb.ModelConfig{}
	if a.config != "" {
		text, err := os.ReadFile(a.config)
		if err != nil {
			return nil, fmt.Errorf("--model-config: %w", err)
		}
		c, err := modelconfig.Parse(a.config, text)
		if err != nil {
			return nil, fmt.Errorf("--model-config: %w", err)
		}
		base = c.ModelConfig
		if base.GetSequenceBatching() != nil || base.GetEnsembleScheduling() != nil {
			return nil, fmt.Errorf("--model-config %s: sequence batching and ensembles cannot be simulated", a.config)
		}
	}
	if a.queueSize == 0 && a.queueTimeout == 0 {
		return base, nil
	}
	d := base.GetDynamicBatching()
	if d == nil {
		d = &inferencepb.ModelDynamicBatching{}
		base.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: d}
	}
	if d.DefaultQueuePolicy == nil {
		d.DefaultQueuePolicy = &inferencepb.ModelQueuePolicy{}
	}
	if a.queueSize > 0 {
		d.DefaultQueuePolicy.MaxQueueSize = uint32(a.queueSize)
	}
	if a.queueTimeout > 0 {
		d.DefaultQueuePolicy.DefaultTimeoutMicroseconds = uint64(a.queueTimeout.Microseconds())
	}
	return base, nil
}

// settings fills the space: from the flags, else from the configuration, else from the curve.
func (a *arguments) settings(w *work, base *inferencepb.ModelConfig) error {
	var errs []error
	list := func(flag, text string, initial ...int) []int {
		if text == "" {
			return initial
		}
		numbers, err := integers(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
		}
		return numbers
	}
	largest := 1
	for _, p := range w.planner.Curve.Points() {
		largest = max(largest, p.Batch)
	}
	if a.config != "" {
		largest = int(base.GetMaxBatchSize())
	}
	var preferred []int
	for _, n := range base.GetDynamicBatching().GetPreferredBatchSize() {
		preferred = append(preferred, int(n))
	}
	instances := 0
	for _, g := range base.GetInstanceGroup() {
		instances += max(int(g.GetCount()), 1)
	}
	w.space = capacity.Space{
		MaxBatch: list("max-batch-size", a.batches, largest), Preferred: list("preferred-batch-size", a.preferred, preferred...),
		Instances: list("instances", a.instances, max(instances, 1)), Devices: list("devices", a.devices, 1),
	}
	var err error
	if w.space.Delays, err = a.delayList(base); err != nil {
		errs = append(errs, err)
	}
	if (a.queueSize > 0 || a.queueTimeout > 0) && len(w.space.MaxBatch) > 0 && w.space.MaxBatch[0] < 2 {
		errs = append(errs, errors.New("--queue-size and --queue-timeout belong to dynamic batching, and need a --max-batch-size above 1"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if n := slices.Max(w.space.Instances) * slices.Max(w.space.Devices); n > maxInstances {
		return fmt.Errorf("--instances and --devices: %d are more than %d instances", n, maxInstances)
	}
	return nil
}

// maxInstances bounds the memory of a run.
const maxInstances = 100_000

func (a *arguments) delayList(base *inferencepb.ModelConfig) ([]time.Duration, error) {
	if a.delays == "" {
		if a.config != "" && base.GetDynamicBatching() == nil {
			return []time.Duration{capacity.NoDelay}, nil
		}
		return []time.Duration{kserve.Micros(base.GetDynamicBatching().GetMaxQueueDelayMicroseconds())}, nil
	}
	var all []time.Duration
	for text := range strings.SplitSeq(a.delays, ",") {
		if strings.TrimSpace(text) == "off" {
			all = append(all, capacity.NoDelay)
			continue
		}
		d, err := flags.ParseDuration(strings.TrimSpace(text), time.Microsecond)
		if err != nil || d < 0 || d > time.Hour {
			return nil, fmt.Errorf("--queue-delay: %q is neither off nor a time up to an hour, such as 500us", text)
		}
		all = append(all, d)
	}
	return all, nil
}

// integers reads positive numbers: 1,4,8 or 1:4 or 2:8:2.
func integers(text string) ([]int, error) {
	const limit = 100_000
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		var bounds []int
		for field := range strings.SplitSeq(part, ":") {
			n, err := strconv.Atoi(strings.TrimSpace(field))
			if err != nil || n < 1 || n > limit {
				return nil, fmt.Errorf("%q is not a number from 1 to %d", field, limit)
			}
			bounds = append(bounds, n)
		}
		first, last, step := bounds[0], bounds[0], 1
		switch len(bounds) {
		case 1:
		case 3:
			step = bounds[2]
			fallthrough
		case 2:
			last = bounds[1]
		default:
			return nil, fmt.Errorf("%q is not a range such as 1:4 or 2:8:2", part)
		}
		if last < first {
			return nil, fmt.Errorf("the range %q ends before it begins", part)
		}
		if len(all)+(last-first)/step+1 > most {
			return nil, fmt.Errorf("%q has more than %d numbers", text, most)
		}
		for n := first; n <= last; n += step {
			all = append(all, n)
		}
	}
	return all, nil
}

// target returns what capacity has to hold.
func (a *arguments) target() (capacity.Target, error) {
	switch {
	case a.p99 <= 0:
		return capacity.Target{}, errors.New("--p99 TIME is required, such as 50ms")
	case !(a.refused >= 0 && a.refused < 100):
		return capacity.Target{}, fmt.Errorf("--refused: %g is no percentage below 100", a.refused)
	case a.perDevice < 0 || a.mostInstances < 1 || a.mostInstances > maxInstances:
		return capacity.Target{}, errors.New("--instances-per-device is not negative, --max-instances is from 1 to 100000")
	}
	return capacity.Target{P99: a.p99, Refused: a.refused / 100, PerDevice: a.perDevice, Most: a.mostInstances}, nil
}
