// Package capacity answers, from a cost curve and without a server, what a setting of a model
// would do to a load, and how many instances and devices hold a target. The queue in virtual
// time is given by the caller: it is the server's own.
package capacity

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
)

// Arrival is one request of a load.
type Arrival struct {
	At       time.Duration // since the start
	Rows     int           // 0 is 1
	Priority uint64
	Timeout  time.Duration // in the queue, as the request asks; 0: none
}

// Model is what a Queue runs.
type Model struct {
	Config    *inferencepb.ModelConfig // complete
	Instances int
	Cost      func(rows int) time.Duration
}

// Batch is one execution. Members are indices of the arrivals.
type Batch struct {
	Start, End time.Duration
	Rows       int
	Members    []int
}

// Fate is what became of a request.
type Fate uint8

// The fates.
const (
	Waiting  Fate = iota // for ever: nothing makes its batch due
	Answered             // after Trace.Latency
	Rejected             // the queue was full
	Expired              // its time in the queue was over
)

// Trace is what a Queue did. Fates and Latency have the order of the arrivals.
type Trace struct {
	Arrivals []Arrival
	Batches  []Batch
	Fates    []Fate
	Latency  []time.Duration
}

// Queue runs the requests of a model in virtual time.
type Queue interface {
	// Open runs requests that arrive at their times.
	Open(m Model, arrivals []Arrival) Trace
	// Closed runs clients that each send their next request when the last one is answered.
	Closed(m Model, clients, rows, requests int) Trace
}

// Setting is what can be chosen about a model.
type Setting struct {
	MaxBatch int // 0 and 1: no batching
	// Delay is the most that the oldest request of a batch waits for others; below 0 there
	// is no dynamic batching.
	Delay     time.Duration
	Preferred []int // batch sizes
	// Instances is how many there are in all, on that many devices.
	Instances, Devices int
}

// NoDelay is the Delay of settings without dynamic batching.
const NoDelay = time.Duration(-1)

// Dynamic reports whether the setting has dynamic batching.
func (s Setting) Dynamic() bool { return s.Delay >= 0 && s.MaxBatch > 1 }

// PerDevice returns how many instances the fullest device has.
func (s Setting) PerDevice() int {
	d := max(s.Devices, 1)
	return (max(s.Instances, 1) + d - 1) / d
}

// String describes the setting with all its fields: it also identifies it, in Space.Settings.
func (s Setting) String() string {
	batching := "no dynamic batching"
	if s.Dynamic() {
		batching = fmt.Sprintf("delay %v", s.Delay)
		if len(s.Preferred) > 0 {
			batching += ", preferred " + strings.Trim(fmt.Sprint(s.Preferred), "[]")
		}
	}
	return fmt.Sprintf("max_batch_size %d, %s, %d on %d", s.MaxBatch, batching, s.Instances, max(s.Devices, 1))
}

// Planner runs settings.
type Planner struct {
	Queue Queue
	Curve *Curve
	// Base has what settings do not say, such as priorities, queue sizes and timeouts. It may
	// be nil.
	Base *inferencepb.ModelConfig
	// Overhead is added to the latency of each request: network, protocol, what the server
	// itself needs.
	Overhead time.Duration
}

// Run returns what a setting does to requests that arrive at their times.
func (p Planner) Run(s Setting, arrivals []Arrival) Outcome {
	return p.outcome(s, p.Queue.Open(p.model(s), arrivals))
}

// RunClosed returns what a setting does to clients that wait for their answers.
func (p Planner) RunClosed(s Setting, clients, rows, requests int) Outcome {
	o := p.outcome(s, p.Queue.Closed(p.model(s), clients, rows, requests))
	o.Overloaded = false // no more than the clients' requests ever wait
	return o
}

func (p Planner) model(s Setting) Model {
	each := s.PerDevice()
	return Model{
		Config: p.config(s), Instances: max(s.Instances, 1),
		Cost: func(rows int) time.Duration { return p.Curve.Time(rows, each) },
	}
}

// config returns the configuration of a setting.
func (p Planner) config(s Setting) *inferencepb.ModelConfig {
	c := &inferencepb.ModelConfig{}
	if p.Base != nil {
		c = proto.Clone(p.Base).(*inferencepb.ModelConfig)
	}
	c.MaxBatchSize = int32(max(s.MaxBatch, 0))
	if !s.Dynamic() {
		c.SchedulingChoice = nil
		return c
	}
	d := c.GetDynamicBatching()
	if d == nil {
		d = &inferencepb.ModelDynamicBatching{}
		c.SchedulingChoice = &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: d}
	}
	d.MaxQueueDelayMicroseconds = uint64(s.Delay.Microseconds())
	d.PreferredBatchSize = nil
	for _, n := range s.Preferred {
		if n <= s.MaxBatch {
			d.PreferredBatchSize = append(d.PreferredBatchSize, int32(n))
		}
	}
	return c
}

// Doubts says what the cost curve has to assume for a setting.
func (p Planner) Doubts(s Setting) []string {
	rows := 1
	if s.Dynamic() {
		rows = s.MaxBatch
	}
	return p.Curve.Doubts(rows, s.PerDevice())
}

// Space has the values of each choice.
type Space struct {
	MaxBatch           []int
	Delays             []time.Duration
	Preferred          []int
	Instances, Devices []int // instances of each device
}

// Size returns the number of combinations.
func (s Space) Size() int {
	return len(s.MaxBatch) * len(s.Delays) * len(s.Devices) * len(s.Instances)
}

// Settings returns all combinations, without those that differ in nothing that counts.
func (s Space) Settings() []Setting {
	var all []Setting
	seen := map[string]bool{}
	for _, batch := range s.MaxBatch {
		for _, delay := range s.Delays {
			for _, devices := range s.Devices {
				for _, instances := range s.Instances {
					one := Setting{MaxBatch: batch, Delay: delay, Preferred: s.Preferred, Instances: instances * devices, Devices: devices}
					if !one.Dynamic() {
						one.Delay, one.Preferred = NoDelay, nil
					}
					if name := one.String(); !seen[name] {
						seen[name] = true
						all = append(all, one)
					}
				}
			}
		}
	}
	return all
}
