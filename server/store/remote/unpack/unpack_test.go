package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"triton/server/store/remote/unpack"
)

// entry is an entry of a tar or zip archive. A name that ends in a slash is a folder.
type entry struct {
	name, text, link string
	kind             byte
}

func tarred(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.text)), Mode: 0o644}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := io.WriteString(w, e.text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		switch e.kind {
		case tar.TypeSymlink:
			h.SetMode(fs.ModeSymlink | 0o777)
			e.text = e.link
		case tar.TypeFifo:
			h.SetMode(fs.ModeNamedPipe | 0o644)
		}
		f, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = io.WriteString(f, e.text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zstandard(t testing.TB, text []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(text, nil)
}

// kept is the content of files by digest.
type kept map[string]string

func (k kept) keep(_ context.Context, _ unpack.Origin, from io.Reader) (unpack.Content, error) {
	text, err := io.ReadAll(from)
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	k[digest] = string(text)
	return unpack.Content{Size: int64(len(text)), Digest: digest}, err
}

// saved writes an archive to a file.
func saved(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

var small = unpack.Limits{Bytes: 64 << 10, Entries: 100}

// contents returns the files of a tree with their texts.
func contents(t testing.TB, k kept, tree *unpack.Tree) (map[string]string, error) {
	t.Helper()
	files, err := tree.Files()
	all := map[string]string{}
	for _, f := range files {
		require.NotContains(t, all, f.Name)
		all[f.Name] = k[f.Digest]
		require.Len(t, k[f.Digest], int(f.Size))
	}
	return all, err
}

func unpacked(t testing.TB, within string, archive []byte) (map[string]string, error) {
	t.Helper()
	k := kept{}
	tree, err := unpack.New(within, small, k.keep)
	require.NoError(t, err)
	if err := tree.Archive(t.Context(), saved(t, archive)); err != nil {
		return nil, err
	}
	return contents(t, k, tree)
}

// TestFormats: each form of an archive has the same files.
func TestFormats(t *testing.T) {
	t.Parallel()
	entries := []entry{{name: "./m/"}, {name: "./m/config.pbtxt", text: "c"}, {name: "m/1/model.onnx", text: "model"}, {name: "m/2/"}}
	want := map[string]string{"m/config.pbtxt": "c", "m/1/model.onnx": "model", "m/2/": ""}
	plain := tarred(t, entries...)
	for name, archive := range map[string][]byte{
		"tar": plain, "tar.gz": gzipped(t, plain), "tar.zst": zstandard(t, plain), "zip": zipped(t, entries...),
		"two parts of gzip": append(gzipped(t, plain[:700]), gzipped(t, plain[700:])...),
		"with a tail":       append(bytes.Clone(plain), make([]byte, 10<<10)...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := unpacked(t, "", archive)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

// TestLinks: links become the files that they lead to.
func TestLinks(t *testing.T) {
	t.Parallel()
	entries := []entry{
		{name: "m/1/model.onnx", text: "one"},
		{name: "m/2", link: "1", kind: tar.TypeSymlink},
		{name: "m/3/model.onnx", link: "../2/model.onnx", kind: tar.TypeSymlink},
		{name: "m/4/model.onnx", link: "../../m/../m/1/model.onnx", kind: tar.TypeSymlink},
	}
	want := map[string]string{"m/1/model.onnx": "one", "m/2/model.onnx": "one", "m/3/model.onnx": "one", "m/4/model.onnx": "one"}
	got, err := unpacked(t, "", zipped(t, entries...))
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = unpacked(t, "/m/", tarred(t, append(entries, entry{name: "m/5/x", link: "m/1/model.onnx", kind: tar.TypeLink}, entry{name: "n/x", text: "outside"})...))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"1/model.onnx": "one", "2/model.onnx": "one", "3/model.onnx": "one", "4/model.onnx": "one", "5/x": "one"}, got)
}

// TestRefused: what is hostile or broken is refused, with the entry and the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", 65) + "x"
	bomb := tarred(t, entry{name: "zeros", text: strings.Repeat("\x00", 100<<10)})
	var many []entry
	for i := range 101 {
		many = append(many, entry{name: "m/" + strings.Repeat("x", i+1)})
	}
	far := strings.Repeat(strings.Repeat("x", 250)+"/", 8) + "x"
	var long []entry
	longLinks := []entry{{name: "m/a/" + far, text: "x"}}
	for i := range 30 {
		long = append(long, entry{name: fmt.Sprint("m/", i, far)})
		longLinks = append(longLinks, entry{name: fmt.Sprint("m/", i), link: "a", kind: tar.TypeSymlink})
	}
	whole := gzipped(t, tarred(t, entry{name: "m/x", text: "text"}))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1 // in the checksum at the end
	for name, test := range map[string]struct {
		archive []byte
		reason  string
	}{
		"parent":               {tarred(t, entry{name: "../x"}), `entry "../x" leads out of the archive`},
		"parent inside":        {tarred(t, entry{name: "m/../../x"}), "leads out of the archive"},
		"absolute":             {tarred(t, entry{name: "/etc/passwd"}), "has an absolute path"},
		"backslash":            {zipped(t, entry{name: `..\x`}), "has a backslash"},
		"zip parent":           {zipped(t, entry{name: "m/../../x"}), "leads out of the archive"},
		"long name":            {tarred(t, entry{name: strings.Repeat("x", 256)}), "name that is too long"},
		"deep":                 {tarred(t, entry{name: deep}), "nested too deep"},
		"link out":             {tarred(t, entry{name: "m/x", link: "../../etc", kind: tar.TypeSymlink}), `is a link to "../../etc", outside of the archive`},
		"absolute link":        {tarred(t, entry{name: "x", link: "/etc/passwd", kind: tar.TypeSymlink}), "outside of the archive"},
		"zip link out":         {zipped(t, entry{name: "x", link: "../y", kind: tar.TypeSymlink}), "outside of the archive"},
		"write through a link": {tarred(t, entry{name: "l", link: ".", kind: tar.TypeSymlink}, entry{name: "l/x"}), `entry "l/x" is below a link`},
		"dangling link":        {tarred(t, entry{name: "l", link: "none", kind: tar.TypeSymlink}), "leads to nothing"},
		"links in a circle":    {tarred(t, entry{name: "a", link: "b", kind: tar.TypeSymlink}, entry{name: "b", link: "a", kind: tar.TypeSymlink}), "leads to nothing"},
		"link to its folder":   {tarred(t, entry{name: "m/l", link: ".", kind: tar.TypeSymlink}), "link to a folder around it"},
		"hard link out":        {tarred(t, entry{name: "x", link: "../../etc/passwd", kind: tar.TypeLink}), "leads out of the archive"},
		"hard link to nothing": {tarred(t, entry{name: "x", link: "y", kind: tar.TypeLink}), "no file before it"},
		"hard link to a link":  {tarred(t, entry{name: "y", link: "z", kind: tar.TypeSymlink}, entry{name: "x", link: "y", kind: tar.TypeLink}), "no file before it"},
		"hard link to itself":  {tarred(t, entry{name: "x", text: "1"}, entry{name: "x", link: "x", kind: tar.TypeLink}), "is there twice"},
		"device":               {tarred(t, entry{name: "m/sda", kind: tar.TypeBlock}), "is a device"},
		"pipe":                 {tarred(t, entry{name: "m/p", kind: tar.TypeFifo}), "a pipe"},
		"zip pipe":             {zipped(t, entry{name: "m/p", kind: tar.TypeFifo}), "a pipe"},
		"twice":                {tarred(t, entry{name: "x"}, entry{name: "./x"}), "is there twice"},
		"zip twice":            {zipped(t, entry{name: "x"}, entry{name: "x"}), "is there twice"},
		"file, then folder":    {tarred(t, entry{name: "x"}, entry{name: "x/"}), "a folder and something else"},
		"folder, then file":    {tarred(t, entry{name: "x/y"}, entry{name: "x", text: "1"}), "is there twice"},
		"below a file":         {tarred(t, entry{name: "x"}, entry{name: "x/y"}), "is below a file"},
		"root":                 {tarred(t, entry{name: ".", text: "1"}), "in place of the root"},
		"bomb":                 {gzipped(t, bomb), "unpacked it has more than 65536 bytes, the limit"},
		"zstd bomb":            {zstandard(t, bomb), "more than 65536 bytes"},
		"zip bomb":             {zipped(t, entry{name: "zeros", text: strings.Repeat("\x00", 100<<10)}), "more than 65536 bytes"},
		"many entries":         {tarred(t, many...), "more than 100 entries, the limit"},
		"zip many entries":     {zipped(t, many...), "more than 100 entries, the limit"},
		"long names":           {tarred(t, long...), "the names of its entries have more than 25600 bytes"},
		"long names by links":  {tarred(t, longLinks...), "the names of its entries have more than 25600 bytes"},
		"cut":                  {whole[:len(whole)-12], "it is broken"},
		"flipped":              {flipped, "it is broken"},
		"a page":               {[]byte("<html>" + strings.Repeat("not found ", 100)), "it is no archive (tar, tar.gz, tar.zst or zip)"},
		"broken zip":           {[]byte("PK\x03\x04 nothing"), "it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := unpacked(t, "", test.archive)
			require.ErrorIs(t, err, unpack.ErrRefused)
			require.ErrorContains(t, err, test.reason)
		})
	}
}

// TestSparse: a sparse file counts with the size that it has when it is read.
func TestSparse(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sparse.tar")
	require.NoError(t, err)
	require.Less(t, len(text), 64<<10)
	_, err = unpacked(t, "", text)
	require.ErrorContains(t, err, "more than 65536 bytes")
}

// TestLayers: upper layers replace and remove what lower ones have.
func TestLayers(t *testing.T) {
	t.Parallel()
	base := []entry{{name: "/models/a/1/x", text: "a1"}, {name: "models/a/2/x", text: "a2"}, {name: "models/b/1/x", text: "b1"}, {name: "etc/passwd", text: "root"}, {name: "dev/null", kind: tar.TypeChar}}
	for name, test := range map[string]struct {
		upper []entry
		want  map[string]string
	}{
		"none":                      {nil, map[string]string{"a/1/x": "a1", "a/2/x": "a2", "b/1/x": "b1"}},
		"replaced":                  {[]entry{{name: "models/a/1/x", text: "new"}}, map[string]string{"a/1/x": "new", "a/2/x": "a2", "b/1/x": "b1"}},
		"removed":                   {[]entry{{name: "models/a/.wh.1"}, {name: "models/.wh.b"}}, map[string]string{"a/2/x": "a2"}},
		"opaque":                    {[]entry{{name: "models/a/3/x", text: "a3"}, {name: "models/a/.wh..wh..opq"}, {name: "models/a/4/x", text: "a4"}}, map[string]string{"a/3/x": "a3", "a/4/x": "a4", "b/1/x": "b1"}},
		"removed and made again":    {[]entry{{name: "models/.wh.a"}, {name: "models/a/9/x", text: "a9"}}, map[string]string{"a/9/x": "a9", "b/1/x": "b1"}},
		"made again, then removed":  {[]entry{{name: "models/a/9/x", text: "a9"}, {name: "models/.wh.a"}}, map[string]string{"a/9/x": "a9", "b/1/x": "b1"}},
		"removed above":             {[]entry{{name: ".wh.models"}, {name: "models/c/1/x", text: "c1"}}, map[string]string{"c/1/x": "c1"}},
		"all opaque":                {[]entry{{name: ".wh..wh..opq"}}, map[string]string{}},
		"folder in place of a file": {[]entry{{name: "models/a/1/x/"}, {name: "models/a/1/x/y", text: "y"}}, map[string]string{"a/1/x/y": "y", "a/2/x": "a2", "b/1/x": "b1"}},
		"file in place of a folder": {[]entry{{name: "models/a", text: "file"}}, map[string]string{"a": "file", "b/1/x": "b1"}},
		"hard link to a lower file": {[]entry{{name: "models/c/1/x", link: "models/a/1/x", kind: tar.TypeLink}, {name: "models/a/.wh.1"}}, map[string]string{"c/1/x": "a1", "a/2/x": "a2", "b/1/x": "b1"}},
		"absolute link":             {[]entry{{name: "models/c", link: "/models/b", kind: tar.TypeSymlink}}, map[string]string{"a/1/x": "a1", "a/2/x": "a2", "b/1/x": "b1", "c/1/x": "b1"}},
		"whiteout of nothing there": {[]entry{{name: "models/.wh.none"}, {name: "etc/.wh.passwd"}}, map[string]string{"a/1/x": "a1", "a/2/x": "a2", "b/1/x": "b1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kept{}
			tree, err := unpack.New("/models", small, k.keep)
			require.NoError(t, err)
			for _, layer := range [][]byte{tarred(t, base...), gzipped(t, tarred(t, test.upper...))} {
				require.NoError(t, tree.Layer(t.Context(), saved(t, layer)))
			}
			got, err := contents(t, k, tree)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
	for reason, upper := range map[string]entry{
		"a whiteout of nothing":  {name: "models/.wh."},
		"leads out":              {name: "models/../../x"},
		"outside of what is kep": {name: "models/x", link: "/etc/passwd", kind: tar.TypeSymlink},
		"no file before it":      {name: "models/x", link: "etc/passwd", kind: tar.TypeLink},
		"is a device":            {name: "models/x", kind: tar.TypeChar},
	} {
		k := kept{}
		tree, err := unpack.New("models", small, k.keep)
		require.NoError(t, err)
		require.NoError(t, tree.Layer(t.Context(), saved(t, tarred(t, base...))))
		require.ErrorContains(t, tree.Layer(t.Context(), saved(t, tarred(t, upper))), reason)
	}
}

// TestAdd: files that are not in archives follow the same rules.
func TestAdd(t *testing.T) {
	t.Parallel()
	k := kept{}
	c, err := k.keep(t.Context(), unpack.Origin{}, strings.NewReader("text"))
	require.NoError(t, err)
	tree, err := unpack.New("models", small, k.keep)
	require.NoError(t, err)
	require.NoError(t, tree.Add("models/m/1/x", c))
	require.NoError(t, tree.Add("other/x", c))
	require.ErrorContains(t, tree.Add("models/m/1/x", c), "is there twice")
	require.ErrorContains(t, tree.Add("models/m/1/x/y", c), "is below a file")
	require.ErrorContains(t, tree.Add("../x", c), "leads out")
	got, err := contents(t, k, tree)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"m/1/x": "text"}, got)
	_, err = unpack.New("../x", small, k.keep)
	require.ErrorContains(t, err, `the folder "../x" in the archive leads out of the archive`)
}

// TestCancelled: an unpacking ends with its context, and that is no fault of the archive.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	tree, err := unpack.New("", unpack.DefaultLimits(), func(_ context.Context, _ unpack.Origin, from io.Reader) (unpack.Content, error) {
		cancel()
		_, err := io.Copy(io.Discard, from)
		return unpack.Content{}, err
	})
	require.NoError(t, err)
	err = tree.Archive(ctx, saved(t, tarred(t, entry{name: "x", text: strings.Repeat("x", 1<<20)})))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, unpack.ErrRefused)
}
