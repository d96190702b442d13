package httpapi

import (
	"triton/pkg/kserve/rest"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/server/frontend"
	"triton/server/infer"
)

var errExiting = status.New(status.Unavailable, "Server exiting")

func (a *api) modelReady(r *route) error {
	ready, err := a.svc.ModelReady(r.model, r.version)
	if err != nil {
		return err
	}
	if !ready {
		return status.New(status.InvalidArg, "Model version not ready")
	}
	return nil
}

func (a *api) modelMetadata(x *exchange, r *route) error {
	m, err := infer.Describe(x.Context, a.svc, r.model, r.version)
	if err != nil {
		return err
	}
	defer m.Release()
	md := m.Metadata()
	versions := md.Versions
	if r.version != "" {
		versions = []string{m.Version()}
	}
	x.Text = frontend.AppendModelMetadata(x.Text[:0], md, versions)
	return nil
}

func (a *api) modelConfig(x *exchange, r *route) error {
	m, err := infer.Describe(x.Context, a.svc, r.model, r.version)
	if err != nil {
		return err
	}
	defer m.Release()
	text, err := modelconfig.MarshalJSON(m.Config())
	if err != nil {
		return err
	}
	x.Text = append(x.Text[:0], text...)
	return nil
}

func (a *api) statistics(x *exchange, r *route) error {
	s, err := a.svc.Statistics(r.model, r.version)
	if err != nil {
		return err
	}
	x.Text = frontend.AppendStatistics(x.Text[:0], x.visibleStatistics(s))
	return nil
}

// maxIndexRequest bounds the body of an index request, which holds one flag.
const maxIndexRequest = 1 << 20

func (a *api) index(x *exchange) error {
	body, err := x.read(maxIndexRequest)
	if err != nil {
		return err
	}
	defer body.Release()
	readyOnly := false
	if body.Len() > 0 {
		if readyOnly, err = rest.DecodeIndexRequest(body.Bytes()); err != nil {
			return err
		}
	}
	if err := frontend.CheckIndex(a.svc); err != nil {
		return err
	}
	x.Text = frontend.AppendIndex(x.Text[:0], x.visible(a.svc.Index(readyOnly)))
	return nil
}
