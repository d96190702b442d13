package infer

// Caller is on whose behalf requests are made. Queues divide their time between callers. All
// requests of a caller have the same pointer.
type Caller struct {
	// Weight is its share of a queue that is not empty, relative to the weights of the others; 0
	// counts as 1.
	Weight uint32
	// Class is served before the classes after it.
	Class Class
}

// Class is a priority class of callers. The zero value is Standard.
type Class uint8

// The classes.
const (
	Standard Class = iota
	Interactive
	Bulk
	// Classes is their number.
	Classes = 3
)

var classes = [Classes]struct {
	text string
	turn int // the first is served first
}{
	Standard:    {"standard", 1},
	Interactive: {"interactive", 0},
	Bulk:        {"batch", 2},
}

// String returns the name of the class in files and metrics.
func (c Class) String() string { return classes[c].text }

// Turn returns how many classes are served before this one.
func (c Class) Turn() int { return classes[c].turn }

// ParseClass returns the class of that name.
func ParseClass(name string) (Class, bool) {
	for c := range classes {
		if classes[c].text == name {
			return Class(c), true //nolint:gosec // there are three
		}
	}
	return 0, false
}

// ClassOf returns the class of a request.
func (r *Request) ClassOf() Class {
	if r.Caller == nil {
		return Standard
	}
	return r.Caller.Class
}

// RowsOf returns the rows of a request to a model that was not checked yet: at least 1, and at most
// those of a batch, as one with more is refused.
func RowsOf(m Model, r *Request) int {
	largest := m.Config().GetMaxBatchSize()
	if largest < 1 || len(r.Inputs) == 0 || len(r.Inputs[0].Shape) == 0 {
		return 1
	}
	return int(min(max(r.Inputs[0].Shape[0], 1), int64(largest)))
}
