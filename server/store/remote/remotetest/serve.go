package remotetest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Server answers in the protocols of the stores from buckets by name.
type Server struct {
	Buckets map[string]*Bucket
	// Allow refuses requests that it returns false for; nil: it allows all.
	Allow func(r *http.Request) bool
	// PageSize is the number of objects in a page of a listing; 0: 1000.
	PageSize int
}

func (s *Server) pageSize() int {
	if s.PageSize == 0 {
		return 1000
	}
	return s.PageSize
}

func (s *Server) allows(r *http.Request) bool { return s.Allow == nil || s.Allow(r) }

// S3 serves the protocol of S3 with paths /bucket/object.
func (s *Server) S3() http.Handler {
	fail := func(w http.ResponseWriter, status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_ = xml.NewEncoder(w).Encode(struct {
			XMLName xml.Name `xml:"Error"`
			Code    string
			Message string
		}{Code: code, Message: "of the test"})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		b := s.Buckets[name]
		switch {
		case !s.allows(r):
			fail(w, http.StatusForbidden, "AccessDenied")
		case b == nil:
			fail(w, http.StatusNotFound, "NoSuchBucket")
		case object == "" && r.URL.Query().Get("list-type") == "2":
			s.listS3(w, r, name, b)
		default:
			e, found := b.get(object)
			if !found {
				fail(w, http.StatusNotFound, "NoSuchKey")
				return
			}
			b.serve(w, r, object, e, `"`+e.etag()+`"`)
		}
	})
}

func (s *Server) listS3(w http.ResponseWriter, r *http.Request, name string, b *Bucket) {
	type content struct {
		Key, LastModified, ETag string
		Size                    int
	}
	q := r.URL.Query()
	all, more := b.list(q.Get("prefix"), q.Get("continuation-token"), s.pageSize())
	out := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name                  string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		EncodingType          string
		Contents              []content
	}{Name: name, IsTruncated: more, EncodingType: "url"}
	for _, o := range all {
		key := strings.ReplaceAll(url.QueryEscape(o.name), "%2F", "/")
		out.Contents = append(out.Contents, content{key, time.Unix(1e9, 0).UTC().Format(time.RFC3339), `"` + o.etag() + `"`, len(o.text)})
		out.NextContinuationToken = o.name
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}

// GCS serves the JSON API of Google Cloud Storage.
func (s *Server) GCS() http.Handler {
	fail := func(w http.ResponseWriter, status int) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"status %d of the test"}}`, status)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/storage/v1/b/"), "/o")
		object = strings.TrimPrefix(object, "/")
		b := s.Buckets[name]
		switch {
		case !s.allows(r):
			fail(w, http.StatusForbidden)
		case b == nil:
			fail(w, http.StatusNotFound)
		case object == "":
			s.listGCS(w, r, b)
		default:
			e, found := b.get(object)
			if !found || r.URL.Query().Get("generation") != e.tag() {
				fail(w, http.StatusNotFound)
				return
			}
			w.Header().Set("X-Goog-Generation", e.tag())
			b.serve(w, r, object, e, "")
		}
	})
}

func (s *Server) listGCS(w http.ResponseWriter, r *http.Request, b *Bucket) {
	q := r.URL.Query()
	all, more := b.list(q.Get("prefix"), q.Get("pageToken"), s.pageSize())
	var items []map[string]string
	out := map[string]any{}
	for _, o := range all {
		items = append(items, map[string]string{
			"name": o.name, "size": strconv.Itoa(len(o.text)), "generation": o.tag(),
			"md5Hash": base64.StdEncoding.EncodeToString(o.md5()), "updated": time.Unix(1e9, 0).UTC().Format(time.RFC3339),
		})
		if more {
			out["nextPageToken"] = o.name
		}
	}
	out["items"] = items
	_ = json.NewEncoder(w).Encode(out)
}

// Azure serves the REST API of Azure Blob Storage with paths /account/container/blob.
func (s *Server) Azure() http.Handler {
	fail := func(w http.ResponseWriter, status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>of the test\nTime:now</Message></Error>", code)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		name, object, _ := strings.Cut(rest, "/")
		b := s.Buckets[name]
		switch {
		case !s.allows(r):
			fail(w, http.StatusForbidden, "AuthenticationFailed")
		case b == nil:
			fail(w, http.StatusNotFound, "ContainerNotFound")
		case object == "":
			s.listAzure(w, r, b)
		default:
			e, found := b.get(object)
			if !found {
				fail(w, http.StatusNotFound, "BlobNotFound")
				return
			}
			r.Header.Set("Range", r.Header.Get("X-Ms-Range"))
			b.serve(w, r, object, e, `"`+e.tag()+`"`)
		}
	})
}

func (s *Server) listAzure(w http.ResponseWriter, r *http.Request, b *Bucket) {
	type properties struct {
		Modified string `xml:"Last-Modified"`
		Etag     string
		Size     int    `xml:"Content-Length"`
		MD5      string `xml:"Content-MD5"`
	}
	type metadata struct {
		Folder string `xml:"hdi_isfolder,omitempty"`
	}
	type blob struct {
		Name       string
		Properties properties
		Metadata   metadata
	}
	q := r.URL.Query()
	all, more := b.list(q.Get("prefix"), q.Get("marker"), s.pageSize())
	out := struct {
		XMLName    xml.Name `xml:"EnumerationResults"`
		Blobs      []blob   `xml:"Blobs>Blob"`
		NextMarker string
	}{}
	for _, o := range all {
		b := blob{Name: o.name, Properties: properties{
			time.Unix(1e9, 0).UTC().Format(http.TimeFormat), o.tag(), len(o.text), base64.StdEncoding.EncodeToString(o.md5()),
		}}
		if folder, is := strings.CutSuffix(o.name, "/"); is { // Azure marks folders by metadata
			b.Name, b.Metadata.Folder = folder, "true"
		}
		out.Blobs = append(out.Blobs, b)
		if more {
			out.NextMarker = o.name
		}
	}
	_ = xml.NewEncoder(w).Encode(out)
}

// serve answers a request for a range of content.
func (b *Bucket) serve(w http.ResponseWriter, r *http.Request, name string, e entry, etag string) {
	if match := r.Header.Get("If-Match"); match != "" && strings.Trim(match, `"`) != strings.Trim(etag, `"`) {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	var first, last int64
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil {
		first, last = 0, int64(len(e.text))-1
	}
	if last >= int64(len(e.text)) {
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	f := b.begin(name, first, last-first+1)
	switch {
	case f.Status != 0:
		w.WriteHeader(f.Status)
		return
	case f.Hang:
		<-r.Context().Done()
		return
	}
	text := f.change(e.text[first : last+1])
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(e.text)))
	w.WriteHeader(http.StatusPartialContent)
	if f.Cut >= 0 && f.Cut < int64(len(text)) {
		n, _ := w.Write(text[:f.Cut])
		b.count(n)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	n, _ := w.Write(text)
	b.count(n)
}
