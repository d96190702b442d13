package server

import (
	"context"
	"encoding/json"
	"sync"
)

// Traffic returns the live traffic rules of a model or an alias, in the form that SetTraffic reads;
// nil: it has none.
func (s *Server) Traffic(ctx context.Context, model string) (json.RawMessage, error) {
	return s.traffic.Traffic(ctx, model)
}

// SetTraffic replaces the live traffic rules of a model or an alias. An empty document deletes them.
func (s *Server) SetTraffic(ctx context.Context, model string, document json.RawMessage) error {
	return s.traffic.SetTraffic(ctx, model, document)
}

// runTraffic compares canaries and runs the copies of shadows until the returned function is
// called.
func (s *Server) runTraffic() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.traffic.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}
