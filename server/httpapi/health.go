package httpapi

import (
	"encoding/json"
	"net/url"

	"triton/server/access/policy"
	"triton/server/http1"
)

// health answers with a status alone, or with the reasons if the query asks for them.
func (a *api) health(x *exchange, good bool) error {
	verbose := a.opts.Readiness != nil && x.verbose()
	if verbose && x.permission != nil && x.permission.Filters(policy.ActionIndex) {
		verbose = false // the reasons name models that the caller may not see
	}
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

// verbose reports whether the query asks for the reasons.
func (x *exchange) verbose() bool { return x.asks("verbose") }

// asks reports whether the query has a parameter, without a value or with a value other than 0 and
// false.
func (x *exchange) asks(name string) bool {
	if x.Query == "" {
		return false
	}
	q, err := url.ParseQuery(x.Query)
	if err != nil || !q.Has(name) {
		return false
	}
	v := q.Get(name)
	return v != "0" && v != "false"
}
