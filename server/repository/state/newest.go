package state

import (
	"log/slog"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/server/infer"
	"triton/server/model"
)

// Newest is the highest ready version of a model. Requests without a version use it.
type Newest struct {
	*model.LoadedVersion
	metadata *inferencepb.ModelMetadataResponse
	// choice is nil without a chooser, and if there is only one version to choose from.
	choice *choice
}

// choice is a chooser and the versions to choose from, as sameDecoupling returns them. The last
// one is the newest.
type choice struct {
	chooser infer.Chooser
	ready   []infer.Model
	log     *slog.Logger
}

// Metadata returns the metadata of the model, with all ready versions.
func (n *Newest) Metadata() *inferencepb.ModelMetadataResponse { return n.metadata }

// Choose exchanges the reference to the newest version for a reference to the version that
// the chooser picks for a request. It keeps the newest if the picked version was just taken
// out of service.
func (n *Newest) Choose(r *infer.Request, _ infer.Headers) infer.Model {
	if n.choice == nil {
		return n
	}
	i := n.choice.pick(r)
	if i < 0 || i >= len(n.choice.ready)-1 {
		return n
	}
	v := n.choice.ready[i].(*model.LoadedVersion)
	if !v.Acquire() {
		return n
	}
	n.Release()
	return v
}

// pick returns the index of the version that the chooser picks; -1 if it panics.
func (c *choice) pick(r *infer.Request) (index int) {
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(c.log, "panic while choosing a version; the newest answers", p, "model", r.ModelName)
			index = -1
		}
	}()
	return c.chooser.Choose(r, c.ready)
}
