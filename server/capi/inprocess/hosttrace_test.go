package inprocess_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/capi/capitest"
	"triton/server/capi/inprocess"
	"triton/server/infer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trace records the activities that C code reports.
type trace struct {
	names []string
	at    []int64
	child *trace
}

func (t *trace) Observe(e infer.Event) {
	if e.Kind == infer.EventActivity {
		t.names, t.at = append(t.names, e.Name), append(t.at, e.At)
	}
}

// Child returns a trace the first time.
func (t *trace) Child() infer.Trace {
	if t.child != nil {
		return nil
	}
	t.child = &trace{}
	return t.child
}

func TestHostTrace(t *testing.T) {
	record := &trace{}
	p := inprocess.NewTrace(record)
	if p == nil {
		t.Skip("the C API needs cgo and Linux")
	}
	capitest.Run(t, "../include", "../testdata/hosttrace.c", fmt.Sprintf("%p", p))
	inprocess.FreeTrace(p)
	require.Equal(t, []string{"first"}, record.names)
	require.Equal(t, []string{"of the child"}, record.child.names)
	require.WithinDuration(t, time.Unix(0, infer.Now()), time.Unix(0, record.at[0]), time.Minute, "times are those of the core")
}
