package remote

import (
	"errors"

	"triton/server/store/remote/unpack"
)

// Errors of sources. A call that failed with one of these is not repeated.
var (
	// ErrNotFound: there is no such bucket, container, path or object.
	ErrNotFound = errors.New("not found")
	// ErrDenied: the credentials are missing, wrong or not sufficient.
	ErrDenied = errors.New("access denied")
	// ErrChanged: the object has other content than when it was listed.
	ErrChanged = errors.New("the content was changed since it was listed")
	// ErrRefused: the content is broken or hostile, has another checksum than announced, or its
	// signature does not verify.
	ErrRefused = unpack.ErrRefused
	// ErrContent: the content has another size or digest than announced.
	ErrContent = errors.New("wrong content")
)
