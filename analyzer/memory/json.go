package memory

import (
	"encoding/json"
	"io"
	"time"

	"triton/analyzer/memory/footprint"
)

// WriteJSON prints the whole result. Memory is in bytes, latency in milliseconds.
func WriteJSON(w io.Writer, r *Result) error {
	return WriteJSONs(w, []*Result{r})
}

// WriteJSONs prints the results of several models as one document.
func WriteJSONs(w io.Writer, results []*Result) error {
	var all Document
	for i, r := range results {
		d := newDocument(r)
		if i > 0 {
			d.Started, d.Models = all.Started, append(all.Models, d.Models...)
			d.Warnings = append(all.Warnings, d.Warnings...)
			d.Interrupted = d.Interrupted || all.Interrupted
		}
		all = d
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(all)
}

// Schema is the version of the JSON form.
const Schema = 2

// Document is the JSON form of a result.
type Document struct {
	Schema      int             `json:"schema"`
	Tool        string          `json:"tool"`
	Started     time.Time       `json:"started"`
	Models      []DocumentModel `json:"models"`
	Warnings    []string        `json:"warnings,omitempty"`
	Interrupted bool            `json:"interrupted,omitempty"`
}

// DocumentModel is the JSON form of a model's footprint.
type DocumentModel struct {
	Name           string                          `json:"name"`
	Shapes         []string                        `json:"shapes,omitempty"`
	Batch          int                             `json:"batch"`
	Baseline       footprint.Reading               `json:"baseline,omitempty"`
	Anchors        []DocumentAnchor                `json:"anchors"`
	Points         []documentPoint                 `json:"points"`
	Fit            map[footprint.Place]DocumentFit `json:"fit,omitempty"`
	Capacity       []DocumentCapacity              `json:"capacity,omitempty"`
	Answer         documentAnswer                  `json:"answer"`
	Recommendation *documentRecommendation         `json:"recommendation,omitempty"`
	Reason         string                          `json:"reason"`
	Sources        map[footprint.Place]string      `json:"sources,omitempty"`
}

type (
	// DocumentAnchor is one server.
	DocumentAnchor struct {
		Instances  int               `json:"k"`
		Load       footprint.Reading `json:"load,omitempty"`
		Warm       footprint.Reading `json:"warm,omitempty"`
		Peak       footprint.Reading `json:"peak,omitempty"`
		Retained   footprint.Reading `json:"retained,omitempty"`
		Throughput float64           `json:"throughput,omitempty"`
		P99        float64           `json:"p99_ms,omitempty"`
		Batches    []documentBatch   `json:"batches,omitempty"`
		Proof      string            `json:"executed,omitempty"`
		Why        string            `json:"why"`
		Class      string            `json:"class,omitempty"`
		Error      string            `json:"error,omitempty"`
	}
	// documentBatch is the peak at a batch size.
	documentBatch struct {
		Batch int               `json:"batch"`
		Peak  footprint.Reading `json:"peak"`
	}
	// documentPoint is one setting.
	documentPoint struct {
		Instances   int               `json:"instances"`
		Batch       int               `json:"batch"`
		Concurrency int               `json:"concurrency"`
		Requests    int               `json:"requests"`
		Throughput  float64           `json:"throughput"`
		Latency     *documentLatency  `json:"latency_ms,omitempty"`
		Stable      bool              `json:"stable"`
		Memory      footprint.Reading `json:"memory,omitempty"`
		Recommended bool              `json:"recommended,omitempty"`
		Error       string            `json:"error,omitempty"`
	}
	// documentLatency is in milliseconds.
	documentLatency struct {
		Avg float64 `json:"avg"`
		P50 float64 `json:"p50"`
		P90 float64 `json:"p90"`
		P95 float64 `json:"p95"`
		P99 float64 `json:"p99"`
	}
	// DocumentFit is the law of memory at a place.
	DocumentFit struct {
		Beta        [3]float64 `json:"beta"`  // per instance, with its interval
		Alpha       [3]float64 `json:"alpha"` // at no instance, with its interval
		BetaHi      float64    `json:"beta_hi"`
		AlphaHi     float64    `json:"alpha_hi"`
		Noise       float64    `json:"noise"`
		Residual    float64    `json:"residual"`
		SuperLinear bool       `json:"superlinear"`
	}
	// DocumentCapacity is what a place holds.
	DocumentCapacity struct {
		Device    footprint.Place `json:"device"`
		Total     uint64          `json:"total"`
		Usable    uint64          `json:"usable"`
		Headroom  uint64          `json:"headroom"`
		Origin    string          `json:"origin"`
		Instances *int            `json:"k_mem,omitempty"` // absent if memory does not limit
		Shortfall uint64          `json:"shortfall,omitempty"`
	}
	// documentAnswer is how many instances to serve.
	documentAnswer struct {
		Instances    int    `json:"k"`
		Status       string `json:"status"`
		Run          bool   `json:"run"`
		Memory       *int   `json:"k_mem,omitempty"`
		MemoryStatus string `json:"k_mem_status,omitempty"`
		Useful       *int   `json:"k_perf,omitempty"`
		// Gain is by which share each instance from k_perf to the next larger measured count changed the throughput.
		Gain *float64 `json:"gain_of_one_more,omitempty"`
		// Noise is the relative standard deviation of the throughput between servers with the same count.
		Noise   float64 `json:"throughput_noise,omitempty"`
		Repeats int     `json:"repeats,omitempty"`
		// Compared are the throughputs by which the counts were compared.
		Compared []documentCompared `json:"compared,omitempty"`
		Fewer    *documentChange    `json:"fewer,omitempty"`
		More     *documentChange    `json:"more,omitempty"`
		Doubts   []string           `json:"doubts,omitempty"`
	}
	// documentCompared is the throughput of a count under the load that compares: the geometric mean of its servers.
	documentCompared struct {
		Instances   int     `json:"k"`
		Servers     int     `json:"servers"`
		Batch       int     `json:"batch"`
		Concurrency int     `json:"concurrency"`
		Throughput  float64 `json:"throughput"`
	}
	// documentChange is how the throughput changes from k_perf to the next measured count, relative, with the
	// interval that decides, of footprint.Confidence percent.
	documentChange struct {
		Instances int     `json:"k"`
		Change    float64 `json:"change"`
		Low       float64 `json:"low"`
		High      float64 `json:"high"`
	}
	// documentRecommendation is the configuration to serve.
	documentRecommendation struct {
		Instances       int    `json:"instances"`
		MaxBatch        int    `json:"max_batch"`
		DynamicBatching bool   `json:"dynamic_batching"`
		Config          string `json:"config"`
		// QueueDelay is present if most of the latency is the queue delay.
		QueueDelay *documentDelay `json:"queue_delay,omitempty"`
	}
	// documentDelay says that requests wait for batches that the load does not fill.
	documentDelay struct {
		Delay     int64   `json:"max_queue_delay_microseconds"`
		Suggested int64   `json:"suggested_microseconds"`
		Waited    float64 `json:"waited_ms"`
		Latency   float64 `json:"latency_ms"`
		Size      int     `json:"batch"`
	}
)

// UsefulCount returns how many instances are of use; 0 if that is not known.
func (a documentAnswer) UsefulCount() int {
	if a.Useful == nil {
		return 0
	}
	return *a.Useful
}

// newDocument returns the JSON form of a result.
func newDocument(r *Result) Document {
	f := r.Footprint
	m := DocumentModel{
		Name: r.Model, Shapes: r.Shapes, Batch: r.Batch, Baseline: f.Base, Anchors: []DocumentAnchor{}, Points: []documentPoint{},
		Fit: map[footprint.Place]DocumentFit{}, Answer: answerOf(r), Reason: r.Reason, Sources: map[footprint.Place]string{},
	}
	for _, a := range f.Anchors {
		m.Anchors = append(m.Anchors, anchorOf(a))
	}
	for i := range r.Points {
		m.Points = append(m.Points, pointOf(r, i))
	}
	for _, l := range f.Limits {
		m.Sources[l.Place] = r.Places[l.Place].Source
		if l.Law != nil {
			m.Fit[l.Place] = fitOf(l.Law)
		}
		c := DocumentCapacity{
			Device: l.Place, Total: l.Room.Total, Usable: uint64(l.Bytes()) + l.Headroom, Headroom: l.Headroom,
			Origin: l.Room.Origin, Shortfall: l.Shortfall,
		}
		if l.Costs {
			c.Instances = &l.Instances
		}
		m.Capacity = append(m.Capacity, c)
	}
	if rec := r.Recommended; rec != nil {
		m.Recommendation = &documentRecommendation{rec.Instances, rec.MaxBatchSize, rec.DynamicBatching, string(rec.Config), delayOf(r.Delay)}
	}
	return Document{
		Schema: Schema, Tool: "triton analyze", Started: r.Started, Models: []DocumentModel{m}, Warnings: r.Warnings, Interrupted: r.Interrupted,
	}
}

func fitOf(l *footprint.Law) DocumentFit {
	of := func(e footprint.Estimate) [3]float64 { return [3]float64{e.Value, e.Low, e.High} }
	return DocumentFit{of(l.PerInstance), of(l.Base), l.SafePerInstance, l.SafeBase, l.Noise, l.Residual, l.SuperLinear}
}

func anchorOf(a footprint.Anchor) DocumentAnchor {
	out := DocumentAnchor{
		Instances: a.Instances, Load: a.Loaded, Warm: a.Warm, Peak: a.Peak, Retained: a.Retained,
		Throughput: a.Work.Throughput, P99: milliseconds(a.Work.P99), Proof: string(a.Proof), Why: a.Why,
	}
	for _, b := range a.Batches {
		out.Batches = append(out.Batches, documentBatch{b.Batch, b.Peak})
	}
	if a.Failure != nil {
		out.Class, out.Error = string(a.Failure.Class), a.Failure.Err.Error()
	}
	return out
}

func answerOf(r *Result) documentAnswer {
	a := r.Footprint.Answer
	out := documentAnswer{Instances: a.Instances, Status: string(a.Status), Run: a.Run, Doubts: a.Doubts}
	if a.MemoryLimits {
		out.Memory, out.MemoryStatus = &a.Memory, string(a.MemoryStatus)
	}
	if a.UsefulKnown {
		out.Useful = &a.Useful
	}
	if c := a.Choice; c.Instances > 0 {
		out.Noise, out.Repeats = c.Noise, c.Repeats
		for _, count := range c.Counts {
			at := compared(r, count)
			out.Compared = append(out.Compared, documentCompared{count.Instances, count.Servers, at.Batch, at.Concurrency, count.Throughput})
		}
		out.Fewer, out.More = changeOf(c.Fewer), changeOf(c.More)
		if m := out.More; m != nil {
			gain := m.Change / float64(m.Instances-c.Instances)
			out.Gain = &gain
		}
	}
	return out
}

func delayOf(d *DelayFinding) *documentDelay {
	if d == nil {
		return nil
	}
	return &documentDelay{d.Delay.Microseconds(), d.Shorter.Microseconds(), milliseconds(d.Waited), milliseconds(d.Latency), d.Size}
}

func changeOf(c footprint.Change) *documentChange {
	if c.Instances == 0 {
		return nil
	}
	return &documentChange{c.Instances, c.Value, c.Low, c.High}
}

func pointOf(r *Result, i int) documentPoint {
	p := r.Points[i]
	out := documentPoint{
		Instances: p.Instances, Batch: p.Batch, Concurrency: p.Concurrency,
		Memory: p.Memory, Recommended: isRecommended(r, p),
	}
	if p.Err != nil {
		out.Error = p.Err.Error()
		return out
	}
	out.Requests, out.Throughput, out.Stable = p.Requests, p.Throughput, p.Stable
	out.Latency = &documentLatency{milliseconds(p.Avg), milliseconds(p.P50), milliseconds(p.P90), milliseconds(p.P95), milliseconds(p.P99)}
	return out
}
