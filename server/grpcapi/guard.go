package grpcapi

import (
	"context"
	"net"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/access"
	"triton/server/access/policy"
	"triton/server/frontend"
	"triton/server/infer"
	"triton/server/memory"
	"triton/server/shm"
)

// actions are the rights that the calls need. A call without an entry is refused.
var actions = func() map[string]policy.Action {
	all := map[string]policy.Action{
		grpc_health_v1.Health_Check_FullMethodName:                       policy.ActionHealth,
		grpc_health_v1.Health_List_FullMethodName:                        policy.ActionHealth,
		grpc_health_v1.Health_Watch_FullMethodName:                       policy.ActionHealth,
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      policy.ActionMetadata,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": policy.ActionMetadata,
	}
	for name, n := range needs {
		all["/"+rpc.Service+"/"+name] = n.action
	}
	return all
}()

// permission is what a guard has decided about the caller of a call.
type permission struct {
	access.Session
	call    access.Call
	refusal *access.Refusal
	memory  *memory.Caller // counts what the caller holds; nil: nothing does
}

// account returns what counts the memory of the caller.
func (p *permission) account() *memory.Caller {
	if p == nil {
		return nil
	}
	return p.memory
}

// leave ends the call.
func (p *permission) leave() { p.account().Leave() }

type permissionKey struct{}

// permissionOf returns the permission of a call; nil without a guard.
func permissionOf(ctx context.Context) *permission {
	p, _ := ctx.Value(permissionKey{}).(*permission)
	return p
}

// checksCallers reports whether calls need a permission at all.
func (o *Options) checksCallers() bool { return o.Guard != nil || o.RefuseControl }

// begin checks the caller of a call, before any message is read. The caller ends the result with leave.
func (o *Options) begin(ctx context.Context, method string) *permission {
	p := &permission{call: access.Call{Action: actions[method], Method: method}}
	if o.RefuseControl && p.call.Action.Control() {
		p.refusal = access.Elsewhere
		return p
	}
	p.Session, p.refusal = o.Guard.Begin(ctx, callerOf(ctx), &p.call)
	if p.refusal == nil {
		p.memory = o.Memory.Enter(p.Account())
	}
	return p
}

// callerOf returns what a call says about its caller.
func callerOf(ctx context.Context) access.Caller {
	c := access.Caller{Protocol: "grpc", Authorization: header(ctx, "authorization"), Key: header(ctx, "x-api-key")}
	if p, ok := peer.FromContext(ctx); ok {
		if p.Addr.Network() != "unix" {
			c.Address = p.Addr.String()
		}
		if a, ok := p.AuthInfo.(*connBudget); ok {
			c.Peer = a.peer
		}
	}
	return c
}

// connectionPeer returns who a connection proves after its handshake; nil: nobody.
func connectionPeer(raw net.Conn, info credentials.AuthInfo) *policy.Principal {
	if t, ok := info.(credentials.TLSInfo); ok {
		return access.PrincipalOfTLS(&t.State)
	}
	return access.PrincipalOf(raw)
}

// admit decides about a call once its model is known.
func (p *permission) admit(ctx context.Context, model, version string) (access.Entry, error) {
	c := p.call
	c.Model, c.Version = model, version
	entry, refusal := p.Admit(ctx, &c)
	if refusal != nil {
		return entry, refusal
	}
	return entry, nil
}

// admitMessage is admit for the message of a call that is no inference.
func (p *permission) admitMessage(ctx context.Context, req any) (access.Entry, error) {
	if p.refusal != nil {
		return access.Entry{}, p.refusal
	}
	model, version := modelOfMessage(req)
	if h, ok := req.(*grpc_health_v1.HealthCheckRequest); ok {
		if model, version, ok = modelOf(h.GetService()); ok {
			_, entry, err := p.admitHealth(ctx, model, version)
			return entry, err
		}
	}
	return p.admit(ctx, model, version)
}

// admitHealth decides about a health check of one model and returns its permission.
func (p *permission) admitHealth(ctx context.Context, model, version string) (*permission, access.Entry, error) {
	check := *p
	check.call.Action, check.call.Model, check.call.Version = policy.ActionReady, model, version
	if check.Session, check.refusal = p.Again(ctx, &check.call); check.refusal != nil {
		return nil, access.Entry{}, check.refusal
	}
	entry, err := check.admit(ctx, model, version)
	return &check, entry, err
}

// renew decides again about a request of a stream, if the rules have changed since it was admitted.
func (p *permission) renew(ctx context.Context, c *call) error {
	if p == nil || !p.Stale() {
		return nil
	}
	again := p.call
	again.Model, again.Version = c.name, c.version
	if refusal := p.Check(ctx, &again); refusal != nil {
		return refusal
	}
	return nil
}

// check decides again about a call that lasts. A nil permission may go on.
func (p *permission) check(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if refusal := p.Check(ctx, &p.call); refusal != nil {
		return refusal
	}
	return nil
}

// modelOfMessage returns the model that a message is about.
func modelOfMessage(req any) (model, version string) {
	switch r := req.(type) {
	case *inferencepb.TraceSettingRequest: // the right is one for the whole server
		return r.GetModelName(), ""
	case *inferencepb.SystemSharedMemoryStatusRequest, *inferencepb.SystemSharedMemoryRegisterRequest, *inferencepb.SystemSharedMemoryUnregisterRequest,
		*inferencepb.CudaSharedMemoryStatusRequest, *inferencepb.CudaSharedMemoryRegisterRequest, *inferencepb.CudaSharedMemoryUnregisterRequest:
		return "", "" // its name is that of a region
	case interface{ GetModelName() string }:
		return r.GetModelName(), ""
	case interface {
		GetName() string
		GetVersion() string
	}:
		return r.GetName(), r.GetVersion()
	}
	return "", ""
}

// refused returns the status of a refusal.
func refused(r *access.Refusal) error { return retryLater(r.GRPC(), r.Msg, r.RetryAfter) }

// refuse is refused for a call of its own, whose trailer says more.
func refuse(conn grpc.ServerStream, r *access.Refusal) error {
	if r.RateLimitPolicy != "" {
		conn.SetTrailer(metadata.Pairs("ratelimit-policy", r.RateLimitPolicy, "ratelimit", r.RateLimit,
			"grpc-retry-pushback-ms", strconv.FormatInt(milliseconds(r.RetryAfter), 10)))
	}
	return refused(r)
}

func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// retryLater returns a status that says when to try again, unless after is 0.
func retryLater(code codes.Code, msg string, after time.Duration) error {
	s := grpcstatus.New(code, msg)
	if after > 0 {
		if more, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
			s = more
		}
	}
	return s.Err()
}

// noRegions is the shared memory of callers that may not use any.
var noRegions = shm.New(shm.Options{})

// regionsOf returns the shared memory that the requests of a call may name.
func (s *service) regionsOf(p *permission) *shm.Manager {
	if p == nil || p.May(policy.ActionSharedMemory, "", "") {
		return s.opts.Regions
	}
	return noRegions
}

// endStatus is the status of a call in the audit log.
func endStatus(err error) string {
	if err == nil {
		return codes.OK.String()
	}
	return grpcstatus.Code(err).String()
}

// admitRequest decides about one request of an inference call, in a message of that many bytes. The
// entry is to be ended.
func (p *permission) admitRequest(ctx context.Context, r *infer.Request, bytes int64) (access.Entry, *access.Refusal) {
	if p == nil {
		return access.Entry{}, nil
	}
	c := p.call
	c.Model, c.Version, c.Bytes = r.ModelName, r.ModelVersion, bytes
	entry, refusal := p.Admit(ctx, &c)
	if refusal == nil {
		r.Caller = entry.Caller()
	}
	return entry, refusal
}

// visible removes the models of a list that the caller may not see.
func visible(ctx context.Context, list *inferencepb.RepositoryIndexResponse) *inferencepb.RepositoryIndexResponse {
	p := permissionOf(ctx)
	if p == nil || !p.Filters(policy.ActionIndex) {
		return list
	}
	return frontend.FilterIndex(list, func(model, version string) bool { return p.May(policy.ActionIndex, model, version) })
}

// visibleStatistics removes the statistics that the caller may not see.
func visibleStatistics(ctx context.Context, s *inferencepb.ModelStatisticsResponse) *inferencepb.ModelStatisticsResponse {
	p := permissionOf(ctx)
	if p == nil || !p.Filters(policy.ActionStatistics) {
		return s
	}
	return frontend.FilterStatistics(s, func(model, version string) bool { return p.May(policy.ActionStatistics, model, version) })
}
