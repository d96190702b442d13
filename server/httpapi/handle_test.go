package httpapi

import (
	"encoding/base64"
	"strings"
	"testing"
)

// FuzzHandle decodes what a client sends as the handle of its memory.
func FuzzHandle(f *testing.F) {
	whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xfb\xff\x00\x10", 16)))
	f.Add(whole)
	f.Add(strings.TrimRight(whole, "="))
	f.Add(" =" + whole[:40] + "\r\n\x00é!" + whole[40:])
	f.Add(whole[:84])
	f.Fuzz(func(t *testing.T, text string) {
		handle, ok := decodeHandle(text)
		if !ok {
			return
		}
		if len(handle) != handleSize {
			t.Fatalf("a handle of %d bytes", len(handle))
		}
		again, ok := decodeHandle("-" + base64.URLEncoding.EncodeToString(handle))
		plain := !strings.ContainsAny(base64.StdEncoding.EncodeToString(handle), "+/")
		if ok != plain { // the other alphabet's letters are passed over
			t.Fatal("letters that are not of the alphabet count")
		}
		if ok && string(again) != string(handle) {
			t.Fatal("another handle")
		}
		again, ok = decodeHandle(base64.StdEncoding.EncodeToString(handle))
		if !ok || string(again) != string(handle) {
			t.Fatal("what was decoded does not come back")
		}
	})
}
