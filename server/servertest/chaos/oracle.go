package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// oracle knows what may answer, and when requests may fail. Its times are those of the
// client: an episode opens a span before it makes a change, and closes it when the server has
// confirmed the change. So the real moment of the change is always inside.
type oracle struct {
	mu     sync.Mutex
	models map[string]*history
	errs   []string // the first ones
	wrong  int
}

// history is what a model could do, from when to when.
type history struct {
	editions map[int64]*content
	newest   map[int]spans // versions that may answer a request without a version
	absent   map[int]spans // versions whose requests may fail; 0 is all
	changing spans         // when content may have been replaced
	listed   []int         // versions that clients ask for
}

// content is what an edition is, and when it could serve.
type content struct {
	version int
	spans
}

// spans are periods of time.
type spans []span

type span struct{ from, to time.Time } // without an end it is open

func (s *spans) open(at time.Time) {
	if n := len(*s); n == 0 || !(*s)[n-1].to.IsZero() {
		*s = append(*s, span{from: at})
	}
}

func (s *spans) close(at time.Time) {
	if n := len(*s); n > 0 && (*s)[n-1].to.IsZero() {
		(*s)[n-1].to = at
	}
}

// meets reports whether there is a moment of a span between two times.
func (s spans) meets(from, to time.Time) bool {
	for _, x := range s {
		if !x.from.After(to) && (x.to.IsZero() || !x.to.Before(from)) {
			return true
		}
	}
	return false
}

func newOracle() *oracle { return &oracle{models: map[string]*history{}} }

func (o *oracle) of(model string) *history {
	h := o.models[model]
	if h == nil {
		h = &history{editions: map[int64]*content{}, newest: map[int]spans{}, absent: map[int]spans{}}
		o.models[model] = h
	}
	return h
}

// may says that, from now on, the content of the model's folder may serve, beside what could
// before.
func (o *oracle) may(x *subject, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.of(x.Name)
	h.changing.open(at)
	versions := x.selects(keys(x.current))
	for _, v := range versions {
		h.edition(x.current[v], v).open(at)
	}
	if n := len(versions); n > 0 {
		open(h.newest, versions[n-1], at)
	}
}

// mayOther is may for content that is not in the folder.
func (o *oracle) mayOther(x *subject, version int, edition int64, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.of(x.Name)
	h.changing.open(at)
	h.edition(edition, version).open(at)
	open(h.newest, version, at)
}

// routes says that, from now on, these versions may also answer requests without a version.
func (o *oracle) routes(x *subject, versions []int, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, v := range versions {
		open(o.of(x.Name).newest, v, at)
	}
}

// serves says that, from now on, only the content of the model's folder serves.
func (o *oracle) serves(x *subject, at time.Time) {
	o.may(x, at)
	o.mu.Lock()
	defer o.mu.Unlock()
	versions := x.selects(keys(x.current))
	o.only(x, versions, x.current, at)
}

// servesOther is serves for content that is not in the folder.
func (o *oracle) servesOther(x *subject, version int, edition int64, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.only(x, []int{version}, map[int]int64{version: edition}, at)
}

// gone says that, from now on, the model does not serve.
func (o *oracle) gone(x *subject, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.only(x, nil, nil, at)
}

func (o *oracle) only(x *subject, versions []int, editions map[int]int64, at time.Time) {
	h := o.of(x.Name)
	h.changing.close(at)
	kept := map[int64]bool{}
	for _, v := range versions {
		kept[editions[v]] = true
	}
	for e, c := range h.editions {
		if !kept[e] {
			c.close(at)
		}
	}
	for v, s := range h.newest {
		if n := len(versions); n == 0 || v != versions[n-1] {
			s.close(at)
			h.newest[v] = s
		}
	}
	if len(versions) > 0 {
		h.listed = versions
	}
}

// fails says that, from now on, requests for a version may fail; 0 is every request.
func (o *oracle) fails(x *subject, version int, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	open(o.of(x.Name).absent, version, at)
}

// works ends fails.
func (o *oracle) works(x *subject, version int, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.of(x.Name).absent[version]
	s.close(at)
	o.of(x.Name).absent[version] = s
}

func open(m map[int]spans, key int, at time.Time) {
	s := m[key]
	s.open(at)
	m[key] = s
}

func (h *history) edition(e int64, version int) *content {
	if h.editions[e] == nil {
		h.editions[e] = &content{version: version}
	}
	return h.editions[e]
}

// versions returns the versions that clients may ask for, and those being removed.
func (o *oracle) versions(model string) []int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(model).listed
}

// answer is how a request ended.
type answer struct {
	model, source  string // the model whose editions count; "" is model
	asked          int    // 0: any version
	version        int
	edition        int64
	sent, received time.Time
	goesOn         bool // the request continues a sequence
	err            error
}

// judge checks an answer. It returns "" for a right answer, "failed" for a failure that the
// oracle expects, and else what is wrong.
func (o *oracle) judge(a answer) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	h, source := o.of(a.model), o.of(a.model)
	if a.source != "" {
		source = o.of(a.source)
	}
	if a.err != nil {
		if a.goesOn && h.changing.meets(a.sent, a.received) { // the end of a version ends its sequences
			return "failed"
		}
		if h.absent[0].meets(a.sent, a.received) || a.asked != 0 && h.absent[a.asked].meets(a.sent, a.received) || source.absent[0].meets(a.sent, a.received) {
			return "failed"
		}
		return fmt.Sprintf("failed while the model had to serve: %v", a.err)
	}
	if a.asked != 0 && a.asked != a.version {
		return fmt.Sprintf("version %d answered for version %d", a.version, a.asked)
	}
	if a.asked == 0 && !h.newest[a.version].meets(a.sent, a.received) {
		return fmt.Sprintf("version %d answered a request without a version, but was not the newest one", a.version)
	}
	c := source.editions[a.edition]
	switch {
	case c == nil:
		return fmt.Sprintf("version %d answered with edition %d, which this model never had", a.version, a.edition)
	case a.source == "" && c.version != a.version:
		return fmt.Sprintf("version %d answered with edition %d, which is version %d", a.version, a.edition, c.version)
	case !c.meets(a.sent, a.received):
		return fmt.Sprintf("version %d answered with edition %d, which could not serve then", a.version, a.edition)
	}
	return ""
}

// wrongf notes an error of the server.
func (o *oracle) wrongf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrong++
	if len(o.errs) < 50 {
		o.errs = append(o.errs, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

func keys(m map[int]int64) []int { return slices.Sorted(maps.Keys(m)) }
