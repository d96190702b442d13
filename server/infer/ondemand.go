package infer

import (
	"context"
	"time"

	"triton/pkg/inferencepb"
)

// OnDemand is a Service that can load models for requests. cause is the error of Service.Model; the
// methods return it if models are not loaded on demand, or there is no such model.
type OnDemand interface {
	// OnDemand reports whether requests load models.
	OnDemand() bool
	// Await loads a model, which takes a while, and returns it with a reference.
	Await(ctx context.Context, name, version string, cause error) (Model, error)
	// Describe describes a model that is not loaded, if possible without loading it.
	Describe(ctx context.Context, name, version string, cause error) (Description, error)
}

// Description is the part of a Model that does not need it to be loaded.
type Description interface {
	Version() string
	Config() *inferencepb.ModelConfig
	Metadata() *inferencepb.ModelMetadataResponse
	Release()
}

// Acquire returns a ready model version with a reference, as Service.Model. If requests load models
// it waits for the load until ctx ends.
func Acquire(ctx context.Context, s Service, name, version string) (Model, error) {
	return AcquireWithin(ctx, s, name, version, 0)
}

// AcquireWithin is Acquire with a limit of the wait; 0: only ctx ends it.
func AcquireWithin(ctx context.Context, s Service, name, version string, limit time.Duration) (Model, error) {
	m, err := s.Model(name, version)
	d, ok := s.(OnDemand)
	if err == nil || !ok {
		return m, err
	}
	if limit > 0 {
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = within
	}
	return d.Await(ctx, name, version, err)
}

// Describe describes a model version. The caller releases the description.
func Describe(ctx context.Context, s Service, name, version string) (Description, error) {
	m, err := s.Model(name, version)
	if err == nil {
		return m, nil
	}
	if d, ok := s.(OnDemand); ok {
		return d.Describe(ctx, name, version, err)
	}
	return nil, err
}

// LoadsOnDemand reports whether requests load models.
func LoadsOnDemand(s Service) bool {
	d, ok := s.(OnDemand)
	return ok && d.OnDemand()
}
