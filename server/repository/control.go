package repository

import (
	"context"

	"triton/pkg/status"
	"triton/server/infer"
)

var errNotExplicit = status.New(status.Unavailable, "explicit model load / unload is not allowed if polling is enabled")

// Load loads one model by request of a client.
func (r *Repository) Load(context.Context, string, infer.LoadOptions) error {
	return errNotExplicit
}

// Unload takes a model out of service.
func (r *Repository) Unload(context.Context, string, bool) error { return errNotExplicit }

// Poll looks at the repository once and loads what has changed.
func (r *Repository) Poll(context.Context) error { return nil }
