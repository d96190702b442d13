package server

import (
	"errors"
	"net/http"
	"net/http/pprof"
	"net/url"
	"strconv"
	"strings"

	"triton/server/http1"
)

// The profiles of the process, as Go's tools read them (`go tool pprof URL`), are part of the metrics port.
const (
	profilePaths = "/debug/pprof"
	// maxProfileSeconds is how long a profile may take, maxProfileBytes how large it may be: a trace of a busy
	// server has some megabytes a second.
	maxProfileSeconds = 60
	maxProfileBytes   = 256 << 20
)

// isProfile reports whether a path asks for a profile, or for the list of them.
func isProfile(path string) bool {
	rest, ok := strings.CutPrefix(path, profilePaths)
	return ok && (rest == "" || rest[0] == '/')
}

// profile makes the reply a profile. Profiles name functions and models, and slow the server down while they
// are taken: without access control only this machine gets them.
func (f *metricsFrontend) profile(x *http1.Exchange) {
	if !f.profiles {
		x.Status, x.ContentType = http.StatusForbidden, http1.TextPlain
		x.Text = append(x.Text[:0], "profiles need access control (--access-policy), or a metrics port that only this machine reaches (--metrics-address=127.0.0.1)\n"...)
		return
	}
	query, err := url.ParseQuery(x.Query)
	if err != nil {
		x.Status, x.ContentType = http.StatusBadRequest, http1.TextPlain
		x.Text = append(x.Text[:0], err.Error()+"\n"...)
		return
	}
	// What is no number is the handler's default.
	if seconds, _ := strconv.ParseFloat(query.Get("seconds"), 64); seconds > maxProfileSeconds {
		x.Status, x.ContentType = http.StatusBadRequest, http1.TextPlain
		x.Text = append(x.Text[:0], "seconds must be at most "+strconv.Itoa(maxProfileSeconds)+"\n"...)
		return
	}
	handler := pprof.Index // the list, and the profiles by name
	switch strings.TrimPrefix(x.Path, profilePaths+"/") {
	case "cmdline", "symbol": // the command line may have secrets; symbols are in the profiles
		x.Status, x.ContentType = http.StatusNotFound, http1.TextPlain
		return
	case "profile":
		handler = pprof.Profile
	case "trace":
		handler = pprof.Trace
	}
	x.Watch() // a client that hangs up ends its profile
	defer x.Unwatch()
	path := x.Path
	if path == profilePaths {
		path += "/"
	}
	w := &profileWriter{header: http.Header{}, x: x}
	x.Text = x.Text[:0]
	handler(w, (&http.Request{Method: x.Method, URL: &url.URL{Path: path, RawQuery: x.Query}, Form: query}).WithContext(x.Context))
	if w.full {
		x.Status, x.ContentType = http.StatusInsufficientStorage, http1.TextPlain
		x.Text = append(x.Text[:0], "the profile is larger than "+strconv.Itoa(maxProfileBytes>>20)+" MiB: ask for fewer seconds\n"...)
		return
	}
	x.ContentType = w.header.Get("Content-Type")
}

// profileWriter collects the reply of a handler of net/http.
type profileWriter struct {
	header http.Header
	x      *http1.Exchange
	full   bool
}

func (w *profileWriter) Header() http.Header  { return w.header }
func (w *profileWriter) WriteHeader(code int) { w.x.Status = code }

var errProfileSize = errors.New("the profile is too large")

func (w *profileWriter) Write(p []byte) (int, error) {
	if len(w.x.Text)+len(p) > maxProfileBytes {
		w.full = true
		return 0, errProfileSize
	}
	w.x.Text = append(w.x.Text, p...)
	return len(p), nil
}
