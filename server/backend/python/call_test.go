package python

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// A model may leave any number of responses of a call unread and read them later.
func TestResponsesWaitForTheModel(t *testing.T) {
	t.Parallel()
	const responses, bytes = 20000, inlineBytes // more bytes than may wait for a process
	all := filepath.Join(t.TempDir(), "all")
	many := newCallee(func(r *infer.Request) error {
		go func() {
			defer r.Release()
			for range responses {
				resp := infer.NewResponse()
				resp.Add("OUT", tensor.Uint8, tensor.Shape{bytes}, tensor.NewData(tensor.HeapBuffer(make([]byte, bytes))))
				r.Respond(resp, false)
			}
			waitUnchanged(r.Sink.(*holding).waiting)
			_ = os.WriteFile(all, nil, 0o600) // the model waits for it
			r.Respond(nil, true)
		}()
		return nil
	})
	many.decoupled = true
	h := newCaller(t, callees{"many": many})
	require.Equal(t, "20001", h.eval(`self.late(ask(model="many"), "`+all+`")`))
}

// A model may call itself with a request that it got.
func TestCallWithOwnRequest(t *testing.T) {
	t.Parallel()
	h := newCaller(t, callees{"m": newCallee(describeRequest)})
	require.Equal(t, "[[b'show(r.exec()) 0  false false 0  OUT FP32 [1] 4']]", h.eval("show(r.exec())"))
}

// waiting returns how many responses wait for the goroutine of the call.
func (c *call) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.queue)
}

// waitUnchanged waits until a number has been the same for a while.
func waitUnchanged(number func() int) {
	last := -1
	for same := 0; same < 20; same++ {
		time.Sleep(tick)
		if n := number(); n != last {
			last, same = n, 0
		}
	}
}
