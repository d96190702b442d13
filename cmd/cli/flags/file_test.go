package flags

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"a.yaml": "HTTP-port: 8000\nrate: 2.5\nallow: true\nmodels: [a, 2]\nbig: 16000000\nnone:\nin: {ner: x}\n",
		"a.YML":  "{http-port: '8000', rate: 2.5, allow: true, models: [a, 2], big: 16000000, in: {ner: x}}",
		"a.json": `{"http-port":8000,"rate":2.5,"allow":true,"models":["a",2],"big":16000000,"in":{"ner":"x"}}`,
		"a.toml": "http-port = 8000\nrate = 2.5\nallow = true\nmodels = ['a', 2]\nbig = 16_000_000\nin.ner = 'x'\n",
	} {
		f, err := readFile(write(t, name, content))
		require.NoError(t, err, name)
		for key, want := range map[string][]string{
			"http-port": {"8000"}, "rate": {"2.5"}, "allow": {"true"}, "models": {"a", "2"}, "big": {"16000000"}, "in.ner": {"x"},
			"none": nil, "in": nil,
		} {
			require.Equal(t, want, f.texts(key), "%s: %s", name, key)
		}
	}
	for name, content := range map[string]string{"a.yaml": "a: b: c", "a.json": "{", "a.toml": "a", "a.ini": "a=b", "a": "{}", "b.yaml": "- list"} {
		name = write(t, name, content)
		_, err := readFile(name)
		require.ErrorContains(t, err, name)
	}
}

func write(t *testing.T, name, content string) string {
	name = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}
