package httpapi

import (
	"net/http"

	"triton/pkg/status"
)

// documentFactor bounds the memory for each byte of a document: it is parsed and written again.
const documentFactor = 8

// state answers with what serves, or brings the server to the document in the body.
func (a *api) state(x *exchange) error {
	if x.Method != http.MethodPut {
		text, err := a.opts.State.ExportState(x.Context)
		if err == nil {
			x.Text = append(x.Text[:0], text...)
		}
		return err
	}
	body, err := x.readText()
	if err != nil {
		return err
	}
	defer body.Release()
	if err := x.requestMemory.Take(documentFactor * body.Len()); err != nil {
		return err
	}
	text, err := a.opts.State.ApplyState(x.Context, body.Bytes(), x.asks("dry_run"))
	switch {
	case err != nil && status.CodeOf(err) == status.AlreadyExists:
		x.refuse(http.StatusConflict, status.From(err).Msg)
	case err != nil:
		return err
	default:
		x.Text = append(x.Text[:0], text...)
	}
	return nil
}
