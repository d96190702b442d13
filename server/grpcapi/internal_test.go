package grpcapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAnswerBy: a call is given up a little before its deadline, and a short one
// loses no more than a sixteenth of its time.
func TestAnswerBy(t *testing.T) {
	t.Parallel()
	for given, left := range map[time.Duration]time.Duration{
		10 * time.Second:      9995 * time.Millisecond,
		16 * time.Millisecond: 15 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			parent, cancelParent := context.WithTimeout(t.Context(), given)
			defer cancelParent()
			ctx, cancel := withDeadlineMargin(parent)
			defer cancel()
			failed := errors.New("failed")
			require.Equal(t, failed, deadlineError(ctx, failed))
			<-ctx.Done()
			require.Equal(t, left, time.Since(begin))
			require.Equal(t, errDeadline, deadlineError(ctx, failed))
			require.NoError(t, deadlineError(ctx, nil))
		})
	}
	ctx, cancel := withDeadlineMargin(t.Context())
	defer cancel()
	require.Equal(t, t.Context(), ctx)
}
