package page

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the fonts
	"io"
	"sync"
)

// The Go fonts, compressed: they are half as large in the program. A test compares them with
// those of package gofont.
var (
	//go:embed fonts/Go-Regular.ttf.gz
	packedRegular []byte
	//go:embed fonts/Go-Bold.ttf.gz
	packedBold []byte
)

// The files of the fonts are unpacked when a chart is drawn first.
var (
	regularTTF = sync.OnceValue(func() []byte { return unpacked(packedRegular) })
	boldTTF    = sync.OnceValue(func() []byte { return unpacked(packedBold) })
)

func unpacked(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	var content []byte
	if err == nil {
		content, err = io.ReadAll(r)
	}
	if err != nil {
		panic(err) // the fonts are part of the program
	}
	return content
}
