package builtin

import (
	"context"
	"fmt"
	"strings"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// Query is the backend "query". It asks the server where outputs will be stored before
// it makes OUTPUT0 and OUTPUT1, UINT8 [2], of zeros. The answer is the CPU, except for
// outputs in the client's memory.
//
// Environment variables, as NVIDIA's test sets them: with TEST_FAIL_WITH_QUERY_RESULT
// the answers are returned as the text of an error, TEST_BYTE_SIZE is the size to ask
// for and to make, and TEST_ANONYMOUS joins the two questions to one without a name,
// for the sum of the sizes.
type Query struct {
	Getenv func(string) string // nil: nothing is set
}

var (
	_ backend.Backend  = Query{}
	_ backend.Model    = (*queryModel)(nil)
	_ backend.Instance = (*queryInstance)(nil)
)

// Load reads the environment.
func (q Query) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	m := &queryModel{spec: spec, size: 2}
	if q.Getenv == nil {
		return m, nil
	}
	if err := m.testVariables(q.Getenv); err != nil {
		return nil, err
	}
	return m, nil
}

type queryModel struct {
	spec            backend.Spec
	size            int
	anonymous, fail bool
}

func (m *queryModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return &queryInstance{m}, nil
}

func (*queryModel) Close() error { return nil }

type queryInstance struct{ *queryModel }

func (i *queryInstance) Execute(_ context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	answerEach(b, i.answer)
	return nil
}

func (i *queryInstance) answer(_ int, r *infer.Request) (*infer.Response, error) {
	if i.fail {
		return nil, status.New(status.Unknown, "%s", i.locations(r))
	}
	resp := infer.NewResponse()
	for _, name := range [...]string{"OUTPUT0", "OUTPUT1"} {
		if err := add(r, resp, name, tensor.Uint8, tensor.Shape{int64(i.size)}, i.size, func(mem []byte) { clear(mem) }); err != nil {
			resp.Release()
			return nil, err
		}
	}
	return resp, nil
}

// locations returns the memory that each output would be stored in.
func (i *queryInstance) locations(r *infer.Request) string {
	if i.anonymous {
		return "NULL CPU 0; "
	}
	var b strings.Builder
	for _, name := range [...]string{"OUTPUT0", "OUTPUT1"} {
		var place tensor.Location
		if into, ok := r.Into(name); ok {
			place = into.Buffer.Location()
		}
		fmt.Fprintf(&b, "%s %s %d; ", name, place.Kind, place.Device)
	}
	return b.String()
}

func (*queryInstance) Close() error { return nil }
