package grpcapi

import (
	"context"

	"google.golang.org/grpc"

	"triton/pkg/kserve/rpc"
	"triton/server/infer"
)

// admin intercepts all calls except inference.
type admin struct {
	opts         *Options
	guard        guard
	restrictions restrictions
}

func newAdmin(o *Options) *admin {
	return &admin{opts: o, guard: guard{o.Log}, restrictions: newRestrictions(&o.Restricted)}
}

func (a *admin) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	a.opts.logRequest(info.FullMethod)
	defer a.guard.recover(info.FullMethod, &err)
	if a.opts.Access != nil {
		defer logAdmin(ctx, a.opts.Access, req, info.FullMethod, infer.Now(), &err)
	}
	if err := a.restrictions.check(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if adm := admissionOf(ctx); adm != nil {
		entry, refusal := adm.admitMessage(ctx, req)
		if refusal != nil {
			return nil, statusError(refusal)
		}
		defer func() { entry.End(endStatus(err), "") }()
	}
	CompressNone.compress(ctx)
	ctx, cancel := withDeadlineMargin(ctx)
	defer cancel()
	resp, err := next(ctx, req)
	sleep(a.opts.Delays.AdminResponse)
	return resp, deadlineError(ctx, err)
}

func (a *admin) stream(srv any, conn grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	a.opts.logRequest(info.FullMethod)
	defer a.guard.recover(info.FullMethod, &err)
	if a.opts.Access != nil && info.FullMethod != rpc.ModelStreamInfer {
		defer logAdmin(conn.Context(), a.opts.Access, nil, info.FullMethod, infer.Now(), &err)
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
	if a.opts.guards() {
		adm := a.opts.begin(conn.Context(), info.FullMethod)
		defer adm.leave()
		defer s.reader.end() // while its memory has an account
		s.reader.charge.memory.For(adm.memory)
		if adm.refusal != nil {
			return refused(adm.refusal)
		}
		entry, refusal := adm.admit(conn.Context(), "", "")
		if refusal != nil {
			return statusError(refusal)
		}
		defer func() { entry.End(endStatus(err), "") }()
		s.context = context.WithValue(conn.Context(), admissionKey{}, adm)
	}
	return next(srv, s)
}
