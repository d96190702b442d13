package python

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

const sending = `
import threading, time
F = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
def answer(i, error=None):
    return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([i], np.uint8)), pb_utils.Tensor("X", np.zeros(3))], error)
class TritonPythonModel:
    def initialize(self, args):
        self.kept = []
    def execute(self, requests):
        out = None
        for r in requests:
            s = r.get_response_sender()
            out = eval("self." + r.request_id())(s, r)
        return out
`

func newDecoupled(t *testing.T, source string) *harness {
	t.Helper()
	h := newHarness(t, source)
	h.spec.Config.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	require.NoError(t, h.load())
	return h
}

func TestDecoupled(t *testing.T) {
	t.Parallel()
	h := newDecoupled(t, sending+`
    def now(self, s, r):
        for i in range(5): s.send(answer(i))
        s.send(flags=F)
    def last(self, s, r):
        s.send(answer(1))
        s.send(answer(2), F)
    def empty(self, s, r):
        s.send(flags=F)
    def later(self, s, r):
        def run():
            for i in range(100):
                s.send(answer(i + int(r.inputs()[0].as_numpy()[0])))
            s.send(flags=F)
        threading.Thread(target=run).start()
    def errors(self, s, r):
        s.send(answer(1, pb_utils.TritonError("first", pb_utils.TritonError.NOT_FOUND)))
        s.send(answer(3, pb_utils.TritonError("second")), F)
    def lost(self, s, r):
        s.send(answer(4))
    def raises(self, s, r):
        s.send(answer(5))
        self.kept.append(s)
        raise ValueError("half")
    def after(self, s, r):
        try:
            self.kept[0].send(answer(1))
        except Exception as e:
            s.send(answer(0, pb_utils.TritonError(str(e))), F)
    def returns(self, s, r):
        return [answer(1)]
`)
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = strconv.Itoa(i)
	}
	for _, c := range []struct {
		id   string
		want []string
	}{
		{"now", []string{"0", "1", "2", "3", "4", "none final"}},
		{"last", []string{"1", "2 final"}},
		{"empty", []string{"none final"}},
		{"later", append(hundred, "none final")},
		{"errors", []string{"first", "second final"}},
		{"lost", []string{"4", "none final"}},
	} {
		a, b := h.lend(c.id), h.lend(c.id)
		require.NoError(t, h.batch(a, b), c.id)
		require.Equal(t, c.want, a.responses(len(c.want)), c.id)
		require.Equal(t, c.want, b.responses(len(c.want)), c.id)
		a.end()
		b.end()
	}
	a, done := h.lend("raises"), h.lend("empty")
	require.NoError(t, h.batch(done, a), "a part of the batch was answered")
	require.Equal(t, []string{"none final"}, done.responses(1))
	got := a.responses(2)
	require.Equal(t, "5", got[0])
	require.Contains(t, got[1], "Failed to process the request(s) for model 'm_0', message: ValueError: half\n\nAt:\n")
	a.end()
	done.end()
	a = h.lend("after")
	require.NoError(t, h.batch(a))
	require.Equal(t, []string{"Unable to send response. Response sender has been closed. final"}, a.responses(1))
	a.end()
	a = h.lend("returns")
	require.EqualError(t, h.batch(a), "Failed to process the request(s) for model 'm_0', message: Python model 'm_0' is using the decoupled mode and the execute function must return None.")
	require.Len(t, a.responses(1), 1)
	a.end()
}

// The texts are NVIDIA's, recorded from its server.
func TestSenderErrors(t *testing.T) {
	t.Parallel()
	h := newHarness(t, sending+`
    def tries(self, s, calls):
        texts = []
        for response, flags in calls:
            try:
                s.send(response, flags)
                texts.append("ok")
            except pb_utils.TritonModelException as e:
                texts.append(str(e))
        pb_utils.Logger.log_info("|".join(texts))
    def all(self, s, r):
        self.tries(s, [(answer(1), 2), (None, 0), (None, F), (answer(1), 0), (answer(2), 0), (None, F), (None, F), (answer(1), F)])
    def both(self, s, r):
        self.tries(s, [(answer(1), F), (None, F), (answer(2), F)])
    def bls(self, s, r):
        self.tries(pb_utils.InferenceRequest("", 0, [], [], "x").get_response_sender(), [(answer(1), 0)])
        s.send(answer(3), F)
    def twice(self, s, r):
        s.send(answer(1), F)
        return [answer(2)]
`)
	require.NoError(t, h.load())
	const (
		many   = "Unable to send response. Non-decoupled model cannot send more than one response."
		closed = "Unable to send response. Response sender has been closed."
	)
	for _, c := range []struct{ id, want, log string }{
		{"all", "1 final", "Unable to send response. Unsupported flag provided.|Inference Response object must be provided when the response flags is set to zero.|" +
			"Unable to send response. Non-decoupled model cannot send complete final before sending a response.|ok|" + many + "|ok|" + closed + "|" + many},
		{"both", "1 final", "ok|" + closed + "|" + many},
		{"bls", "3 final", "Unable to send response. Response sender has no reference to the decoupled state of the model."},
	} {
		a := h.lend(c.id)
		require.NoError(t, h.batch(a))
		require.Equal(t, []string{c.want}, a.responses(1))
		require.Equal(t, infer.Answered, a.State(), "it was answered while execute ran")
		a.end()
		require.Eventually(t, func() bool { return containsRecord(h, c.log) }, waitFor, tick, c.log)
	}
	a, b := h.lend("twice"), h.lend("both")
	require.NoError(t, h.batch(b, a))
	require.Equal(t, []string{"1 final"}, a.responses(1))
	require.Equal(t, []string{"1 final"}, b.responses(1))
	a.end()
	b.end()
}

// A model with one response may send it after execute, from any thread.
func TestLateResponses(t *testing.T) {
	t.Parallel()
	h := newHarness(t, sending+`
    def later(self, s, r):
        threading.Timer(0.05, s.send, (answer(7),)).start()
        self.kept.append(r)
        return [None]
    def lost(self, s, r):
        pass
    def cancelled(self, s, r):
        def run():
            while not s.is_cancelled() or not r.is_cancelled(): time.sleep(0.005)
            s.send(answer(0, pb_utils.TritonError("stopped", pb_utils.TritonError.CANCELLED)))
        threading.Thread(target=run).start()
`)
	require.NoError(t, h.load())
	a := h.lend("later")
	require.NoError(t, h.batch(a))
	require.True(t, a.IsKept())
	require.Equal(t, []string{"7 final"}, a.responses(1))
	a.end()
	a = h.lend("lost")
	require.NoError(t, h.batch(a))
	require.Equal(t, []string{"the model 'm_0' released the request and did not respond to it final"}, a.responses(1))
	a.end()
	a = h.lend("cancelled")
	require.NoError(t, h.batch(a))
	a.Cancel()
	require.Equal(t, []string{"stopped final"}, a.responses(1))
	a.end()
}

// A child that dies ends the requests that execute left to it, once and with the cause.
func TestDeathEndsOpenRequests(t *testing.T) {
	t.Parallel()
	source := sending + `
    def open(self, s, r):
        self.kept.append(s)
        return [None]
    def die(self, s, r):
        import os
        os._exit(3)
`
	for _, decoupled := range []bool{false, true} {
		h := newHarness(t, source)
		h.spec.Config.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: decoupled}
		if decoupled {
			h = newDecoupled(t, source+"    def open(self, s, r): self.kept.append(s)\n")
		} else {
			require.NoError(t, h.load())
		}
		var all []*lent
		for range 10 {
			l := h.lend("open")
			require.NoError(t, h.batch(l))
			all = append(all, l)
		}
		broken := h.instance.(backend.BreakNotifier).Broken()
		last := h.lend("die")
		err := h.batch(last)
		const cause = "Stub process 'm_0' is not healthy. The cause: the process exited with code 3"
		require.EqualError(t, err, cause)
		require.ErrorIs(t, err, backend.ErrBroken)
		require.Equal(t, status.Internal, status.CodeOf(err))
		for _, l := range append(all, last) {
			require.Equal(t, []string{cause + " final"}, l.responses(1))
			require.Empty(t, l.all)
			l.end()
		}
		require.EqualError(t, <-broken, "the process exited with code 3")
	}
}

// An async execute of a decoupled model runs in the background; its exception is logged.
func TestAsyncDecoupled(t *testing.T) {
	t.Parallel()
	h := newDecoupled(t, `
import asyncio
class TritonPythonModel:
    async def execute(self, requests):
        for i in range(3):
            await asyncio.sleep(0.01)
            for r in requests:
                r.get_response_sender().send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([i], np.uint8))]))
        for r in requests: r.get_response_sender().send(flags=1)
        raise ValueError("at the end")
`)
	a, b := h.lend(""), h.lend("")
	require.NoError(t, h.batch(a))
	require.NoError(t, h.batch(b))
	for _, l := range []*lent{a, b} {
		require.Equal(t, []string{"0", "1", "2", "none final"}, l.responses(4))
		l.end()
	}
	require.Eventually(t, func() bool { return containsRecord(h, "ValueError: at the end") }, waitFor, tick)
}

// Open requests do not keep an instance from closing.
func TestCloseWithOpenRequests(t *testing.T) {
	t.Parallel()
	h := newDecoupled(t, sending+"    def open(self, s, r): self.kept.append(s)\n")
	a := h.lend("open")
	require.NoError(t, h.batch(a))
	require.NoError(t, h.instance.Close())
	require.Regexp(t, `^Stub process 'm_0' is not healthy\. The cause: the process (exited with code 0|was ended by signal 9 \(killed\)) final$`,
		a.responses(1)[0], "an interpreter that takes longer than exitGrace to exit is killed")
	a.end()
}

// Responses of all sizes keep their content while others are made.
func TestManySenders(t *testing.T) {
	t.Parallel()
	h := newDecoupled(t, `
import threading
class TritonPythonModel:
    def execute(self, requests):
        for r in requests:
            threading.Thread(target=self.answer, args=(r,)).start()
    def answer(self, r):
        s, x = r.get_response_sender(), r.inputs()[0].as_numpy()
        for i in range(40):
            n = (i * 7919) % 50000
            s.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.full(n + 1, i, np.uint8))]))
        s.send(flags=1)
`)
	var all []*lent
	for range 4 {
		var b []*lent
		for range 4 {
			b = append(b, h.lend(""))
		}
		require.NoError(t, h.batch(b...))
		all = append(all, b...)
	}
	want := make([]string, 41)
	for i := range want {
		want[i] = strconv.Itoa(i)
	}
	want[40] = "none final"
	for _, l := range all {
		require.Equal(t, want, l.responses(41))
		l.end()
	}
}

// A context that ends stops a batch whose requests have senders.
func TestStopWithSenders(t *testing.T) {
	t.Parallel()
	h := newDecoupled(t, sending+`
    def hang(self, s, r):
        s.send(answer(1))
        time.sleep(3600)
`)
	ctx, cancel := context.WithCancel(t.Context())
	a := h.lend("hang")
	a.Lend(a.owner, true)
	var b infer.Batch
	b.Add(a.Request)
	go func() {
		<-a.all
		cancel()
	}()
	err := h.instance.Execute(ctx, &b)
	require.ErrorIs(t, err, backend.ErrBroken)
	a.Revoke(err)
	if a.Returned() {
		a.owner.Finished(a.Request)
	}
	a.end()
}
