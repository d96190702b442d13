package model

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// TestPanicUsesTheRequestUp: whatever happens in the check of a request, the
// core's reference to it is gone.
func TestPanicUsesTheRequestUp(t *testing.T) {
	t.Parallel()
	v := &LoadedVersion{} // without a checker
	for name, take := range map[string]func(*infer.Request){
		"infer":  func(r *infer.Request) { _, _ = v.Infer(context.Background(), r) },
		"submit": func(r *infer.Request) { _ = v.Submit(r) },
	} {
		r := infer.NewUnpooled()
		require.Panics(t, func() { take(r) }, name)
		r.Release()
		require.Panics(t, r.Release, name)
	}
}
