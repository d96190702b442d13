package grpcapi

import (
	"math"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/server/infer"
)

var messages = sync.Pool{New: func() any { return &rpc.Request{} }}

// modelInfer is the handler of ModelInfer. gRPC calls no interceptor for a
// stream description that streams neither way.
func modelInfer(srv any, stream grpc.ServerStream) (err error) {
	s := srv.(*service)
	defer s.guard.recover(rpc.ModelInfer, &err)
	r := infer.NewRequest()
	msg := messages.Get().(*rpc.Request)
	msg.Message = &r.Request
	err = stream.RecvMsg(msg)
	wrong, broken := msg.Err, msg.Broken
	*msg = rpc.Request{}
	messages.Put(msg)
	if err == nil && broken != nil {
		err = errParse
	}
	if err != nil {
		discard(r)
		return err
	}
	return s.infer(stream, r, wrong)
}

var errParse = grpcstatus.Error(codes.Internal, "Unable to parse request")

// discard gives up a request that no model has seen.
func discard(r *infer.Request) {
	r.Release()
	r.Release() // the core's reference, which Model.Infer would have used up
}

// infer finds the model, reports what is wrong with the message, and runs it.
func (s *service) infer(stream grpc.ServerStream, r *infer.Request, wrong error) error {
	m, err := s.svc.Model(r.ModelName, r.ModelVersion)
	if err != nil {
		discard(r)
		return failure(err)
	}
	defer m.Release()
	if m.Config().GetModelTransactionPolicy().GetDecoupled() {
		wrong = errDecoupled
	}
	if wrong != nil {
		discard(r)
		return failure(wrong)
	}
	defer r.Release()
	resp, err := m.Infer(stream.Context(), r)
	if err != nil {
		return failure(err)
	}
	defer resp.Release()
	if err := classify(m, r, resp); err != nil {
		return failure(err)
	}
	if err := checkSize(resp); err != nil {
		return failure(err)
	}
	return stream.SendMsg(&resp.Response)
}

// checkSize refuses what gRPC cannot send.
func checkSize(resp *infer.Response) error {
	size := 0
	for i := range resp.Outputs {
		size += resp.Outputs[i].Data.Len()
	}
	if size < math.MaxInt32/2 { // the rest of the message is never as large
		return nil
	}
	if size = rpc.ResponseSize(&resp.Response); size > math.MaxInt32 {
		return status.New(status.InvalidArg, "Response has byte size %d which exceeds gRPC's byte size limit %d.",
			size, math.MaxInt32)
	}
	return nil
}

var errDecoupled = status.New(status.Unsupported, "ModelInfer RPC doesn't support models with decoupled transaction policy")

// failure is the gRPC form of an error of ours.
func failure(err error) error {
	e := status.From(err)
	return grpcstatus.Error(e.Code.GRPC(), e.Msg)
}
