package model

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// TestPanicReleasesTheRequest: a panic in the check of a request releases the core's reference.
func TestPanicReleasesTheRequest(t *testing.T) {
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
