package page

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
)

func TestFonts(t *testing.T) {
	t.Parallel()
	require.Equal(t, goregular.TTF, regularTTF(), "gzip -9n of Go-Regular.ttf in gofont's folder ttfs")
	require.Equal(t, gobold.TTF, boldTTF(), "gzip -9n of Go-Bold.ttf in gofont's folder ttfs")
}
