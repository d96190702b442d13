package grpcapi

import (
	"context"

	"google.golang.org/grpc"

	"triton/pkg/kserve/rpc"
	"triton/server/infer"
)

// admin intercepts all calls except ModelInfer. Of ModelStreamInfer it only logs the request, recovers, and
// checks the secret.
type admin struct {
	opts         *Options
	panics       panics
	restrictions restrictions
}

func newAdmin(o *Options) *admin {
	return &admin{opts: o, panics: panics{o.Log}, restrictions: newRestrictions(&o.Restricted)}
}

func (a *admin) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	a.opts.logRequest(info.FullMethod)
	defer a.panics.recover(info.FullMethod, &err)
	if a.opts.AccessLog != nil {
		defer logAdmin(ctx, a.opts.AccessLog, req, info.FullMethod, infer.Now(), &err)
	}
	if err := a.restrictions.check(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if caller := permissionOf(ctx); caller != nil {
		entry, refusal := caller.admitMessage(ctx, req)
		if refusal != nil {
			return nil, statusError(refusal)
		}
		defer func() { entry.End(endStatus(err), "") }()
	}
	CompressNone.compress(ctx)
	ctx, cancel := withDeadlineMargin(ctx)
	defer cancel()
	resp, err := next(ctx, req)
	testDelay(a.opts.Delays.AdminResponse)
	return resp, deadlineError(ctx, err)
}

func (a *admin) stream(srv any, conn grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	a.opts.logRequest(info.FullMethod)
	defer a.panics.recover(info.FullMethod, &err)
	if a.opts.AccessLog != nil && info.FullMethod != rpc.ModelStreamInfer {
		defer logAdmin(conn.Context(), a.opts.AccessLog, nil, info.FullMethod, infer.Now(), &err)
	}
	if err := a.restrictions.check(conn.Context(), info.FullMethod); err != nil {
		return err
	}
	if info.FullMethod == rpc.ModelStreamInfer { // reads its messages itself
		return next(srv, conn)
	}
	s, err := newBoundedStream(conn, a.opts, info.IsClientStream)
	if err != nil {
		return err
	}
	defer s.reader.end()
	if a.opts.checksCallers() {
		caller := a.opts.begin(conn.Context(), info.FullMethod)
		defer caller.leave()
		defer s.reader.end() // before leave, while its memory has an account; it may end twice
		s.reader.charge.memory.For(caller.memory)
		if caller.refusal != nil {
			return refused(caller.refusal)
		}
		entry, refusal := caller.admit(conn.Context(), "", "")
		if refusal != nil {
			return statusError(refusal)
		}
		defer func() { entry.End(endStatus(err), "") }()
		s.context = context.WithValue(conn.Context(), permissionKey{}, caller)
	}
	return next(srv, s)
}
