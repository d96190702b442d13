package isolated_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/hostpolicy"
	"triton/server/hostpolicy/hostpolicytest"
	"triton/server/infer"
)

// whereabouts is a backend that refuses all requests with what its threads are bound to: that of
// NewInstance, and that of Execute.
type whereabouts struct{ made hostpolicytest.State }

func (w whereabouts) Load(context.Context, backend.Spec) (backend.Model, error) { return w, nil }

func (whereabouts) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return whereabouts{hostpolicytest.Here()}, nil
}

func (w whereabouts) Execute(context.Context, *infer.Batch) error {
	return status.New(status.Unsupported, "%s, then %s", w.made, hostpolicytest.Here())
}

func (whereabouts) Close() error { return nil }

// TestBoundChild: the threads of an instance in a child are bound there.
func TestBoundChild(t *testing.T) {
	t.Parallel()
	settings, bound := hostpolicytest.Narrow(t)
	free := hostpolicytest.Of("/proc/self")
	for want, policy := range map[hostpolicytest.State]hostpolicy.Policy{
		bound: {Name: "narrow", Settings: settings}, free: {Name: "cpu"},
	} {
		x := newRig(t, "whereabouts")
		x.policy = policy
		x.start()
		for range 3 {
			_, err := x.call("", 1, 7)
			require.ErrorContains(t, err, string(want)+", then "+string(want))
		}
	}
}

// TestChildThatCannotBeBound: the error of the child is that of the instance.
func TestChildThatCannotBeBound(t *testing.T) {
	t.Parallel()
	x := newRig(t, "whereabouts")
	require.NoError(t, x.load())
	_, err := x.model.NewInstance(t.Context(), backend.Placement{HostPolicy: hostpolicy.Policy{Name: "p", Settings: map[string]string{"cpu-cores": "0"}}})
	require.ErrorContains(t, err, "host policy setting 'cpu-cores' format is")
	require.NoError(t, x.model.Close())
}
