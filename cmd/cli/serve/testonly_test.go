package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/grpcapi"
	"triton/server/model"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	s := parse(t, "", "TRITONSERVER_DELAY_GRPC_RESPONSE=1 TRITONSERVER_DELAY_GRPC_COMPLETE=2 TRITONSERVER_DELAY_GRPC_PROCESS=3 "+
		"TRITONSERVER_DELAY_GRPC_PROCESS_ENTRY=4 TRITONSERVER_DELAY_GRPC_NOTIFICATION=5 TRITONSERVER_DELAY_RESPONSE_COMPLETE_EXEC=6 "+
		"TRITONSERVER_DELAY_GRPC_ENQUEUE=7 TRITONSERVER_DELAY_RESPONSE_COMPLETION=8 TRITONSERVER_SERVER_DELAY_GRPC_RESPONSE_SEC=9")
	const ms = time.Millisecond
	require.Equal(t, grpcapi.Delays{
		Response: ms, Complete: 2 * ms, Process: 3 * ms, ProcessEntry: 4 * ms, Notification: 5 * ms, CompleteExec: 6 * ms,
		Enqueue: 7 * ms, ResponseCompletion: 8 * ms, AdminResponse: 9 * time.Second,
	}, s.GRPC.Frontend.Delays)
	require.Zero(t, parse(t, "", "TRITONSERVER_DELAY_GRPC_RESPONSE=x TRITONSERVER_DELAY_GRPC_COMPLETE=-1").GRPC.Frontend.Delays)
}

func TestHoldsOfSchedulers(t *testing.T) {
	t.Parallel()
	require.Equal(t, model.Holds{Requests: 12, Backlog: 3},
		parse(t, "", "TRITONSERVER_DELAY_SCHEDULER=12 TRITONSERVER_BACKLOG_DELAY_SCHEDULER=3").Models.Holds)
	require.Zero(t, parse(t, "", "TRITONSERVER_DELAY_SCHEDULER=x TRITONSERVER_BACKLOG_DELAY_SCHEDULER=-1").Models.Holds)
}
