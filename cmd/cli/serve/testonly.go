package serve

import (
	"strconv"
	"time"

	"triton/server/grpcapi"
	"triton/server/model"
)

// testHolds reads the TRITONSERVER_*DELAY_* variables, by which Triton's test suites slow
// down the gRPC frontend and the schedulers; no flag sets these options. A value that is
// not a number counts as 0. The TEST_* variables belong to the test backend query
// (docs/backends.md).
func testHolds(getenv func(string) string) (grpcapi.Delays, model.Holds) {
	count := func(name string) int {
		n, err := strconv.ParseInt(getenv(name), 10, 32)
		if err != nil {
			return 0
		}
		return int(max(n, 0))
	}
	milliseconds := func(name string) time.Duration { return time.Duration(count(name)) * time.Millisecond }
	delays := grpcapi.Delays{
		Response:           milliseconds("TRITONSERVER_DELAY_GRPC_RESPONSE"),
		Complete:           milliseconds("TRITONSERVER_DELAY_GRPC_COMPLETE"),
		Process:            milliseconds("TRITONSERVER_DELAY_GRPC_PROCESS"),
		ProcessEntry:       milliseconds("TRITONSERVER_DELAY_GRPC_PROCESS_ENTRY"),
		Notification:       milliseconds("TRITONSERVER_DELAY_GRPC_NOTIFICATION"),
		CompleteExec:       milliseconds("TRITONSERVER_DELAY_RESPONSE_COMPLETE_EXEC"),
		Enqueue:            milliseconds("TRITONSERVER_DELAY_GRPC_ENQUEUE"),
		ResponseCompletion: milliseconds("TRITONSERVER_DELAY_RESPONSE_COMPLETION"),
		AdminResponse:      time.Duration(count("TRITONSERVER_SERVER_DELAY_GRPC_RESPONSE_SEC")) * time.Second,
	}
	return delays, model.Holds{
		Requests: count("TRITONSERVER_DELAY_SCHEDULER"),
		Backlog:  count("TRITONSERVER_BACKLOG_DELAY_SCHEDULER"),
	}
}
