package python

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/infer"
)

// A child that is killed at any moment ends each request once, and no memory, goroutine
// or model that was called is left.
func TestKills(t *testing.T) {
	t.Parallel()
	echo := newCallee(describeRequest)
	h := newHarness(t, `
import threading, time
class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            threading.Thread(target=self.answer, args=(r,)).start()
    def answer(self, r):
        s = r.get_response_sender()
        for i in range(20):
            call = pb_utils.InferenceRequest(inputs=r.inputs(), requested_output_names=[], model_name="echo", request_id="same")
            x = call.exec().output_tensors()[0].as_numpy()
            s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.repeat(x, i * 1000 + 1))]))
            s.is_cancelled()
        s.send(flags=1)
`)
	h.spec.Config.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	h.spec.Submitter = func() infer.Submitter { return callees{"echo": echo} }
	m, err := h.backend.Load(t.Context(), h.spec)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		in, err := m.NewInstance(t.Context(), backend.Placement{Name: "m_0"})
		require.NoError(t, err)
		h.instance = in
		kill := time.AfterFunc(time.Duration(rng.IntN(40))*time.Millisecond, in.(*instance).child.process.Kill)
		var all []*lent
		for err == nil && len(all) < 200 {
			a, b := h.lend(""), h.lend("")
			err = h.batch(a, b)
			all = append(all, a, b)
		}
		<-in.(*instance).ended
		for _, l := range all {
			for ended := false; !ended; {
				ended = strings.HasSuffix(<-l.all, "final")
			}
			l.end()
			require.Empty(t, l.all, "nothing comes after the final response")
		}
		kill.Stop()
		require.NoError(t, in.Close())
	}
	require.NoError(t, m.Close())
	memory, err := h.backend.memory()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return memory.pool.Outstanding() == 0 && len(echo.held) == 0 }, waitFor, tick)
}
