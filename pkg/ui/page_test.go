package ui_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"triton/pkg/ui"
)

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>a &lt;b&gt; &amp; c</title>
<style>
td > i { margin: 0 }
</style>
</head>
<body>
<h1>one</h1>
<div class="wide" tabindex="0" role="region" aria-label="&#34;x&#34;">
<table>
<caption>x</caption>
<thead>
<tr><th scope="col">first</th><th scope="col">second</th></tr>
</thead>
<tbody>
<tr><th scope="row">1</th><td>&lt;script&gt;</td></tr>
</tbody>
</table>
</div>
</body>
</html>
`

// TestWrite: text from outside is escaped everywhere, styles are not.
func TestWrite(t *testing.T) {
	var out strings.Builder
	head := ui.PageHead{Title: "a <b> & c", Policy: "default-src 'none'", Schemes: "light dark", Style: "td > i { margin: 0 }\n"}
	rows := []g.Node{html.Tr(ui.PageRowHead(g.Text("1")), ui.PageCells("<script>"))}
	require.NoError(t, ui.WritePage(&out, head,
		html.H1(g.Text("one")), nil,
		ui.PageScroll("wide", `"x"`, ui.PageTable(ui.PageHeads("first", "second"), rows, html.Caption(g.Text("x"))))))
	require.Equal(t, page, out.String())
}
