package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"triton/pkg/status"
	"triton/pkg/trafficrules"
	"triton/server/http1"
)

// Traffic has the traffic rules of a server.
type Traffic interface {
	Status(model string, diffs bool) (*trafficrules.Status, error)
	List() []*trafficrules.Status
	// Set and Delete return trafficrules.ErrGeneration if the rules do not have the generation, which
	// may be nil.
	Set(ctx context.Context, model string, document []byte, generation *uint64) error
	Delete(ctx context.Context, model string, generation *uint64) error
	Promote(model string) error
	Rollback(model string) error
}

// parseTraffic reads what follows /v2/repository: the traffic rules of all models or of one.
func parseTraffic(path string) (route, bool) {
	if path == "/traffic" {
		return route{to: trafficList}, true
	}
	tail, ok := strings.CutPrefix(path, "/models/")
	if !ok {
		return route{}, false
	}
	var r route
	name, action := cutSegment(tail)
	switch action {
	case "/traffic":
		r.to, r.methods = trafficRules, get|post|del
	case "/traffic/diffs":
		r.to = trafficDiffs
	case "/traffic/promote":
		r.to, r.methods = trafficPromote, post
	case "/traffic/rollback":
		r.to, r.methods = trafficRollback, post
	default:
		return route{}, false
	}
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	r.model = name
	return r, name != ""
}

var errNoTraffic = status.New(status.Unavailable, "the server does not support traffic rules")

// traffic reads and changes traffic rules. A change answers with the new state.
func (a *api) traffic(x *exchange, r *route) error {
	t := a.opts.Traffic
	if t == nil {
		return errNoTraffic
	}
	var err error
	switch {
	case r.to == trafficList:
		return x.json(t.List())
	case r.to == trafficPromote:
		err = t.Promote(r.model)
	case r.to == trafficRollback:
		err = t.Rollback(r.model)
	case x.Method == http.MethodPost:
		err = x.setTraffic(t, r.model)
	case x.Method == http.MethodDelete:
		return x.deleteTraffic(t, r.model)
	}
	if err != nil {
		return x.conflict(err)
	}
	st, err := t.Status(r.model, r.to == trafficDiffs)
	if err != nil {
		return err
	}
	x.addHeader("ETag", `"`+strconv.FormatUint(st.Generation, 10)+`"`)
	return x.json(st)
}

func (x *exchange) setTraffic(t Traffic, model string) error {
	generation, err := x.ifMatch()
	if err != nil {
		return err
	}
	if x.Length > trafficrules.MaxDocument {
		return errLongRules
	}
	body, err := x.read(trafficrules.MaxDocument)
	if err != nil {
		return err
	}
	defer body.Release()
	if body.Len() > trafficrules.MaxDocument {
		return errLongRules
	}
	return t.Set(x.Context, model, body.Bytes(), generation)
}

var errLongRules = status.New(status.InvalidArg, "traffic rules have more than %d bytes", trafficrules.MaxDocument)

// deleteTraffic deletes live rules. What applies then may be no rules at all.
func (x *exchange) deleteTraffic(t Traffic, model string) error {
	generation, err := x.ifMatch()
	if err != nil {
		return err
	}
	return x.conflict(t.Delete(x.Context, model, generation))
}

// conflict answers 412 if the rules do not have the generation of If-Match.
func (x *exchange) conflict(err error) error {
	if errors.Is(err, trafficrules.ErrGeneration) {
		x.refuse(http.StatusPreconditionFailed, trafficrules.ErrGeneration.Error())
		return nil
	}
	return err
}

// ifMatch returns the generation in the header If-Match; nil: any.
func (x *exchange) ifMatch() (*uint64, error) {
	text := x.Get("if-match")
	if text == "" || text == "*" {
		return nil, nil
	}
	n, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 64)
	if err != nil {
		return nil, status.New(status.InvalidArg, "If-Match '%s' is not an ETag of traffic rules, such as \"7\", or *", text)
	}
	return &n, nil
}

// json makes the reply the JSON form of v.
func (x *exchange) json(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return status.New(status.Internal, "traffic rules: %w", err)
	}
	x.ContentType = http1.JSON
	x.Text = append(x.Text[:0], text...)
	return nil
}
