// Package conformance is one suite of questions and answers for any server of
// the protocol. The cases are text files: what is sent over HTTP or gRPC, what
// NVIDIA's server answered when the case was recorded, and, where our answer is
// another on purpose, ours with the reason. The suite starts no server: it asks
// the server at an address.
//
// A file begins with lines "key: value" that say what server it needs. A case is
//
//	## name
//	> http POST /v2/models/simple/infer
//	> Header: value
//	>
//	> body
//	< 400
//	< Content-Type: application/json
//	<
//	< {"error":"..."}
//
// or, over gRPC, the name of a call, metadata and the message as protobuf JSON;
// a stream has several messages with a line "> ---" between them:
//
//	> grpc ModelReady
//	>
//	> {"name":"simple"}
//	< OK
//	< {"ready":true}
//
// "> metrics text" asks for the lines of the metrics that contain the text. "> raw" sends the
// lines below it unchanged to the HTTP port. A first line may begin with a time limit, as in
// "> within 500ms: http ...", for a server that does not answer.
//
// "> edit write PATH" with the text below it, "> edit remove PATH" and "> edit rename PATH PATH"
// change the model repository. "> settle" waits until a server that polls has seen the
// change, "> settle 5s" at most for this time, and "> calm" until no model loads or unloads.
// Files that do so have "edits: yes" in their heads.
//
// A question that ends NVIDIA's server is at the end of its file.
//
// After the recorded answer "! reason" may follow, and our own answer in lines
// that begin with "=". A case may ask several questions one after the other.
// "\xNN" stands for a byte and "\\" for a backslash in bodies, both ways.
package conformance

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed testdata/*.txt
var files embed.FS

// Suite is the cases of one file.
type Suite struct {
	Name  string
	Needs map[string]string // the file's head
	Cases []*Case
}

// Case is a few questions with their answers. The cases of a suite run in order on one
// server, so later ones see the changes of earlier ones.
type Case struct {
	Name  string
	Steps []*Step
}

// Step is one question.
type Step struct {
	Line   int
	Ask    []string // the lines of the question
	Answer string   // NVIDIA's
	Reason string   // why our answer differs
	Ours   string   // only with a Reason
}

// Where returns the file and line of the question.
func (s *Step) Where(of *Suite) string { return fmt.Sprintf("%s.txt:%d", of.Name, s.Line) }

// Suites reads all files by name.
func Suites() ([]*Suite, error) {
	names, err := fs.Glob(files, "testdata/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Suite
	for _, n := range names {
		text, err := files.ReadFile(n)
		if err != nil {
			return nil, err
		}
		s, err := Parse(strings.TrimSuffix(path.Base(n), ".txt"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// Parse reads one file.
func Parse(name, text string) (*Suite, error) {
	p := parser{suite: &Suite{Name: name, Needs: map[string]string{}}}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		p.line++
		if err := p.take(lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	return p.suite, lines.Err()
}

type parser struct {
	suite *Suite
	step  *Step
	line  int
	last  byte
}

func (p *parser) take(text string) error {
	if text == "" {
		return nil
	}
	if name, ok := strings.CutPrefix(text, "## "); ok {
		p.suite.Cases = append(p.suite.Cases, &Case{Name: name})
		p.last = '#'
		return nil
	}
	if len(p.suite.Cases) == 0 {
		key, value, ok := strings.Cut(text, ": ")
		if !ok {
			return fmt.Errorf("%q before the first case is no setting \"key: value\"", text)
		}
		p.suite.Needs[key] = value
		return nil
	}
	mark, rest := text[0], strings.TrimPrefix(text[1:], " ")
	last := p.last
	p.last = mark
	if mark == '>' {
		p.ask(last, rest)
		return nil
	}
	if p.step == nil || last == '#' {
		return fmt.Errorf("%q before a question", text)
	}
	switch mark {
	case '<':
		p.step.Answer += rest + "\n"
	case '=':
		p.step.Ours += rest + "\n"
	case '!':
		p.step.Reason = rest
	default:
		return fmt.Errorf("a line begins with one of ## > < ! =, not with %q", text)
	}
	return nil
}

func (p *parser) ask(last byte, text string) {
	if last != '>' {
		p.step = &Step{Line: p.line}
		c := p.suite.Cases[len(p.suite.Cases)-1]
		c.Steps = append(c.Steps, p.step)
	}
	p.step.Ask = append(p.step.Ask, text)
}

// Format writes a suite in the form that Parse reads.
func Format(s *Suite, head string) string {
	var b strings.Builder
	b.WriteString(head)
	block := func(mark, text string) {
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimRight(mark+" "+line, " \n") + "\n")
		}
	}
	for _, c := range s.Cases {
		b.WriteString("\n## " + c.Name + "\n")
		for _, st := range c.Steps {
			for _, line := range st.Ask {
				b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
			}
			block("<", st.Answer)
			if st.Reason != "" {
				block("!", st.Reason)
				block("=", st.Ours)
			}
		}
	}
	return b.String()
}

// Head returns the lines of a file before its first case.
func Head(text string) string {
	head, _, _ := strings.Cut(text, "\n## ")
	return strings.TrimRight(head, "\n") + "\n"
}
