package repository

import (
	"context"
	"time"

	"triton/server/store"
)

// indexWait bounds how long the index waits for the store.
const indexWait = 10 * time.Second

// present lists the models of the store for the index: as they were listed last
// when the store does not answer.
func (r *Repository) present() []store.Model {
	ctx, cancel := context.WithTimeout(context.Background(), indexWait)
	defer cancel()
	l := r.list(ctx)
	if l.err != nil {
		r.opts.Log.Error("listing the model repository", "error", l.err)
		if before := r.listed.Load(); l.models == nil && before != nil {
			return *before
		}
	}
	return l.models
}
