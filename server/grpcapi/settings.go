package grpcapi

import (
	"context"

	"triton/pkg/inferencepb"
)

func (s *service) TraceSetting(
	context.Context, *inferencepb.TraceSettingRequest,
) (*inferencepb.TraceSettingResponse, error) {
	return nil, unsupported("TraceSetting")
}

func (s *service) LogSettings(
	context.Context, *inferencepb.LogSettingsRequest,
) (*inferencepb.LogSettingsResponse, error) {
	return nil, unsupported("LogSettings")
}
