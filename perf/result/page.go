package result

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // the files of the page
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"triton/pkg/ui"
)

//go:embed uplot/uPlot.iife.min.js
var library string

//go:embed uplot/uPlot.min.css
var libraryStyle string

// The library comes with its license.
//
//go:embed uplot/LICENSE
var libraryLicense string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// PageOptions describe a report.
type PageOptions struct {
	Title   string // empty: the names of the models
	Version string // of the program
}

// errNoRuns reports a page without content.
var errNoRuns = errors.New("a report needs at least one result")

// WritePage writes one page that needs no network: its policy allows none.
func WritePage(w io.Writer, runs []Run, o PageOptions) error {
	if len(runs) == 0 {
		return errNoRuns
	}
	u := unitOf(runs)
	library := "/*\n" + strings.ReplaceAll(libraryLicense, "*/", "* /") + "*/\n" + library
	data, err := json.Marshal(dataOf(runs, u)) // escapes what could end the element
	if err != nil {
		return err
	}
	o.Title = cmp.Or(o.Title, title(runs))
	views := make([]runView, len(runs))
	for i := range runs {
		views[i] = viewOf(&runs[i], u)
	}
	head := ui.PageHead{
		Title: o.Title, Schemes: "light dark", Style: libraryStyle + pageStyle,
		// Browsers run only the two scripts with these hashes. uPlot and the bars set styles.
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src " + hash(library) + " " + hash(pageScript),
	}
	return ui.WritePage(w, head,
		html.Header(ui.PageLines(
			html.H1(g.Text(o.Title)),
			html.P(g.Textf("Written by %s. Latencies are in %s.", joinWords("triton perf report", o.Version), u.Long)),
		)),
		html.Main(ui.PageLines(
			answerHTML(runs, u),
			g.Raw(chartsHTML),
			html.NoScript(html.P(g.Text("The charts need JavaScript. The tables do not."))),
			ui.PageLines(g.Map(views, runHTML)...),
			runsHTML(views),
		)),
		html.Script(html.Type("application/json"), html.ID("data"), g.Raw(string(data))),
		html.Script(g.Raw(library)),
		html.Script(g.Raw(pageScript)))
}

// hash returns a script's source expression for a content security policy.
func hash(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func title(runs []Run) string {
	var models []string
	for _, r := range runs {
		if m := r.File.Settings.Model; m != "" && !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		return "Measurement"
	}
	return "Measurement of " + strings.Join(models, ", ")
}
