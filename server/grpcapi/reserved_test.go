package grpcapi_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/grpcapi"
	"triton/server/memory"
)

// announceContents begins a message whose only input has size bytes, and sends the first 64 KB.
func (c *slowClient) announceContents(id uint32, size int) {
	c.t.Helper()
	r := bytesRequest("echo", 0)
	r.Inputs[0].Shape, r.RawInputContents = []int64{int64(size)}, nil
	head := protowire.AppendTag(wireOf(c.t, r), 7, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(size))
	c.open(id, rpc.ModelInfer)
	data := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(head)+size))
	require.NoError(c.t, c.framer.WriteData(id, false, append(data, head...)))
	c.send(id, 64<<10, 16<<10)
}

// Clients that announce large messages and send nothing reserve memory up to a limit. Messages
// beyond it are answered nevertheless, and the memory is given back when the clients leave.
func TestIdleMessagesReserveLittle(t *testing.T) {
	t.Parallel()
	const most = 64 << 20
	for name, c := range map[string]struct {
		connections, streams int
		reserved             int64 // messages
	}{
		"one connection":   {connections: 1, streams: 5, reserved: 2},
		"many connections": {connections: 12, streams: 2, reserved: 17},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := newTaker()
			budget := memory.New(20 * most)
			core.pool.SetAccount(budget.Pools())
			addr := serveCoreTCP(t, core, core.stub.pool, func(o *grpcapi.Options) { o.Memory = budget })
			var idle []*slowClient
			for range c.connections {
				client := newSlowClient(t, addr)
				idle = append(idle, client)
				for i := range c.streams {
					client.announceContents(uint32(2*i+1), most)
				}
			}
			reserved := func(n int64) {
				t.Helper()
				require.Eventually(t, func() bool { return core.pool.Outstanding() == n }, time.Minute, time.Millisecond)
			}
			reserved(c.reserved)
			honest := inferencepb.NewGRPCInferenceServiceClient(dialTCP(t, addr, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30))))
			ask := func() {
				t.Helper()
				r := bytesRequest("echo", 16<<20)
				resp, err := honest.ModelInfer(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, r.RawInputContents[0], resp.RawOutputContents[0])
			}
			ask()
			require.EqualValues(t, 1, core.owned.Load())
			reserved(c.reserved)
			for _, client := range idle {
				client.conn.Close()
			}
			reserved(0)
			before := core.owned.Load()
			ask()
			require.Equal(t, before+1, core.owned.Load(), "the limit is not given back")
			requireEmpty(t, core.pool)
			require.Eventually(t, func() bool { return budget.Total() == 0 }, time.Minute, time.Millisecond)
		})
	}
}
