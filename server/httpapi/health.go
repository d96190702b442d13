package httpapi

import (
	"encoding/json"
	"net/url"

	"triton/server/http1"
)

// health answers with a status alone, or with the reasons if the query asks for them.
func (a *api) health(x *exchange, good bool) error {
	verbose := a.opts.Readiness != nil && x.verbose()
	exiting := a.svc.Exiting()
	switch {
	case exiting && !verbose:
		return errExiting
	case exiting:
		x.Status = errExiting.Code.HTTP()
	case !good:
		x.Status = 400
	}
	if !verbose {
		return nil
	}
	text, err := json.Marshal(a.opts.Readiness())
	if err != nil {
		return err
	}
	x.ContentType = http1.JSON
	x.Text = append(x.Text[:0], text...)
	return nil
}

// verbose reports whether the query has the parameter verbose, without a value or with a value
// other than 0 and false.
func (x *exchange) verbose() bool {
	if x.Query == "" {
		return false
	}
	q, err := url.ParseQuery(x.Query)
	if err != nil || !q.Has("verbose") {
		return false
	}
	v := q.Get("verbose")
	return v != "0" && v != "false"
}

// fleetState answers with what serves as a desired state.
func (a *api) fleetState(x *exchange) error {
	text, err := a.opts.State(x.Context)
	if err != nil {
		return err
	}
	x.Text = append(x.Text[:0], text...)
	return nil
}
