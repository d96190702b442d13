package grpcapi

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// deadlineMargin is the longest time before its deadline at which a call is given up.
// At the deadline itself grpc-go resets the stream without a status, which clients made
// from gRPC's C core, such as Python's, sometimes report as a cancelled call. With
// Triton they never do. A shorter margin leaves a busy server no time to answer.
const deadlineMargin = 5 * time.Millisecond

var errDeadline = grpcstatus.Error(codes.DeadlineExceeded, "Deadline Exceeded")

// withDeadlineMargin returns the context of a call, with a deadline that leaves time
// for the answer.
func withDeadlineMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(deadlineMargin, time.Until(deadline)/16)))
}

// deadlineError returns the final status of a call that failed with err.
func deadlineError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return errDeadline
	}
	return err
}
