package client

import (
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
)

// decodeResponse decodes the body of a response into the message that gRPC uses.
func decodeResponse(data []byte, wrap string, resp proto.Message) error {
	switch m := resp.(type) {
	case *inferencepb.ServerLiveResponse:
		m.Live = true
		return nil
	case *inferencepb.ServerReadyResponse:
		m.Ready = true
		return nil
	case *inferencepb.ModelReadyResponse:
		m.Ready = true
		return nil
	case *inferencepb.SystemSharedMemoryStatusResponse:
		return decodeRegions(data, func(name string, text json.RawMessage) error {
			r := &inferencepb.SystemSharedMemoryStatusResponse_RegionStatus{}
			setRegion(&m.Regions, name, r)
			return unmarshal(text, r)
		})
	case *inferencepb.CudaSharedMemoryStatusResponse:
		return decodeRegions(data, func(name string, text json.RawMessage) error {
			r := &inferencepb.CudaSharedMemoryStatusResponse_RegionStatus{}
			setRegion(&m.Regions, name, r)
			return unmarshal(text, r)
		})
	case *inferencepb.TraceSettingResponse:
		return decodeTrace(data, m)
	case *inferencepb.LogSettingsResponse:
		return decodeLog(data, m)
	}
	if resp.ProtoReflect().Descriptor().Fields().Len() == 0 {
		return nil
	}
	if wrap != "" {
		data = slices.Concat([]byte(`{"`+wrap+`":`), data, []byte("}"))
	}
	return unmarshal(data, resp)
}

func unmarshal(data []byte, m proto.Message) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
}

func setRegion[R any](all *map[string]R, name string, r R) {
	if *all == nil {
		*all = map[string]R{}
	}
	(*all)[name] = r
}

func decodeRegions(data []byte, add func(name string, text json.RawMessage) error) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, text := range list {
		var r struct{ Name string }
		if err := json.Unmarshal(text, &r); err != nil {
			return err
		}
		if err := add(r.Name, text); err != nil {
			return err
		}
	}
	return nil
}

func decodeTrace(data []byte, m *inferencepb.TraceSettingResponse) error {
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	m.Settings = map[string]*inferencepb.TraceSettingResponse_SettingValue{}
	for name, value := range all {
		s := &inferencepb.TraceSettingResponse_SettingValue{}
		switch v := value.(type) {
		case string:
			s.Value = []string{v}
		case []any:
			for _, one := range v {
				s.Value = append(s.Value, fmt.Sprint(one))
			}
		}
		m.Settings[name] = s
	}
	return nil
}

func decodeLog(data []byte, m *inferencepb.LogSettingsResponse) error {
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	m.Settings = map[string]*inferencepb.LogSettingsResponse_SettingValue{}
	for name, value := range all {
		s := &inferencepb.LogSettingsResponse_SettingValue{}
		switch v := value.(type) {
		case bool:
			s.ParameterChoice = &inferencepb.LogSettingsResponse_SettingValue_BoolParam{BoolParam: v}
		case float64:
			s.ParameterChoice = &inferencepb.LogSettingsResponse_SettingValue_Uint32Param{Uint32Param: uint32(v)}
		case string:
			s.ParameterChoice = &inferencepb.LogSettingsResponse_SettingValue_StringParam{StringParam: v}
		}
		m.Settings[name] = s
	}
	return nil
}
