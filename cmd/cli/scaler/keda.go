package scaler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triton/cmd/cli/scaler/externalscalerpb"
)

// reader reads the metrics of all replicas for a scaler.
type reader struct {
	// Replicas returns the addresses of the metrics pages of the replicas that exist now.
	Replicas func(ctx context.Context) ([]string, error)
	// Read reads the metrics of one replica.
	Read func(ctx context.Context, address string) (*reading, error)
	// Interval is the time between two readings.
	Interval time.Duration
	// Timeout is the longest time that a replica may take.
	Timeout time.Duration
	Log     *slog.Logger
}

// scaler answers KEDA. Run reads the replicas; until its first round is over, calls wait.
type scaler struct {
	externalscalerpb.UnimplementedExternalScalerServer
	opts reader

	mu      sync.Mutex
	latest  *round
	changed chan struct{} // closed by the next round
}

// newScaler returns a scaler.
func newScaler(o reader) *scaler { return &scaler{opts: o, changed: make(chan struct{})} }

// Register adds the scaler to a gRPC server.
func (s *scaler) Register(server *grpc.Server) {
	externalscalerpb.RegisterExternalScalerServer(server, s)
}

// Run reads the replicas until the context ends.
func (s *scaler) Run(ctx context.Context) {
	var before *round
	for ctx.Err() == nil {
		now := s.opts.read(ctx, before)
		if ctx.Err() != nil {
			return
		}
		s.opts.report(before, now)
		before = now
		s.mu.Lock()
		s.latest = now
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		select {
		case <-time.After(s.opts.Interval):
		case <-ctx.Done():
		}
	}
}

// round returns the latest round, and a channel that is closed by the next one.
func (s *scaler) round(ctx context.Context) (*round, <-chan struct{}, error) {
	for {
		s.mu.Lock()
		latest, changed := s.latest, s.changed
		s.mu.Unlock()
		if latest != nil {
			return latest, changed, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// IsActive implements the service of KEDA.
func (s *scaler) IsActive(ctx context.Context, ref *externalscalerpb.ScaledObjectRef) (*externalscalerpb.IsActiveResponse, error) {
	t, err := parse(ref.GetScalerMetadata())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	r, _, err := s.round(ctx)
	if err != nil {
		return nil, err
	}
	active, err := t.active(r)
	if err != nil {
		return nil, unavailable(err)
	}
	return &externalscalerpb.IsActiveResponse{Result: active}, nil
}

// StreamIsActive implements the service of KEDA: it sends whether there is work at once, and again
// when that has changed. It sends nothing while the replicas do not answer.
func (s *scaler) StreamIsActive(ref *externalscalerpb.ScaledObjectRef, stream grpc.ServerStreamingServer[externalscalerpb.IsActiveResponse]) error {
	t, err := parse(ref.GetScalerMetadata())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	for sent, last := false, false; ; {
		r, changed, err := s.round(stream.Context())
		if err != nil {
			return err
		}
		if active, err := t.active(r); err == nil && (!sent || active != last) {
			if err := stream.Send(&externalscalerpb.IsActiveResponse{Result: active}); err != nil {
				return err
			}
			sent, last = true, active
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}

// GetMetricSpec implements the service of KEDA.
func (s *scaler) GetMetricSpec(_ context.Context, ref *externalscalerpb.ScaledObjectRef) (*externalscalerpb.GetMetricSpecResponse, error) {
	t, err := parse(ref.GetScalerMetadata())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &externalscalerpb.GetMetricSpecResponse{MetricSpecs: []*externalscalerpb.MetricSpec{{
		MetricName: t.name(), TargetSize: max(1, int64(math.Round(t.target))), TargetSizeFloat: t.target,
	}}}, nil
}

// GetMetrics implements the service of KEDA.
func (s *scaler) GetMetrics(ctx context.Context, req *externalscalerpb.GetMetricsRequest) (*externalscalerpb.GetMetricsResponse, error) {
	t, err := parse(req.GetScaledObjectRef().GetScalerMetadata())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	r, _, err := s.round(ctx)
	if err != nil {
		return nil, err
	}
	v, err := t.value(r)
	if err != nil {
		return nil, unavailable(err)
	}
	name := cmp.Or(req.GetMetricName(), t.name())
	return &externalscalerpb.GetMetricsResponse{MetricValues: []*externalscalerpb.MetricValue{{
		MetricName: name, MetricValue: int64(math.Ceil(v)), MetricValueFloat: v,
	}}}, nil
}

func unavailable(err error) error {
	return status.Error(codes.Unavailable, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// report logs what has changed between two rounds.
func (o *reader) report(before, now *round) {
	text := func(r *round) string {
		if r == nil || r.err() == nil {
			return ""
		}
		return r.err().Error()
	}
	switch was, is := text(before), text(now); {
	case is != "" && was == "":
		o.Log.Warn("the replicas cannot be read", "error", now.err())
	case is == "" && was != "":
		o.Log.Info("the replicas can be read again", "replicas", len(now.replicas))
	}
	for address, r := range now.replicas {
		failed := before != nil && before.replicas[address] != nil && before.replicas[address].err != nil
		if r.err != nil && !failed {
			o.Log.Warn("a replica does not answer", "replica", address, "error", r.err)
		}
	}
}

var errTwice = errors.New("a rate needs two readings of a replica")
