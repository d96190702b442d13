package grpcapi

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// deadlineMargin is how long at most before its deadline a call is given up. At the
// deadline itself grpc-go resets the stream without a status, which clients made
// from gRPC's C core, such as Python's, now and then report as a call that was
// cancelled. With Triton they never do. A shorter time leaves a busy server none
// to answer.
const deadlineMargin = 5 * time.Millisecond

var errDeadline = grpcstatus.Error(codes.DeadlineExceeded, "Deadline Exceeded")

// withDeadlineMargin returns the context of a call whose deadline leaves time for the answer.
func withDeadlineMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(deadlineMargin, time.Until(deadline)/16)))
}

// deadlineError returns what a call that failed with err says in the end.
func deadlineError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return errDeadline
	}
	return err
}
