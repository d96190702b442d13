package framework

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"triton/pkg/inferencepb"
)

// describeTorchScript reads the arguments and results of a TorchScript archive. The archive does
// not say the types and shapes of tensors.
func describeTorchScript(file string) (*described, error) {
	regular, err := openFile(file) // zip.OpenReader would wait for a named pipe
	if err != nil {
		return nil, err
	}
	_ = regular.Close() // nothing was written
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s is not a TorchScript archive: %w", file, err)
	}
	defer z.Close()
	f, err := readTorchScript(&z.Reader)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := &described{
		backend: "pytorch", platform: "pytorch_libtorch", inputs: f.inputs, outputs: f.outputs,
		notes: []string{"TorchScript does not say the types of tensors: replace TYPE_FP32 in the configuration"},
	}
	if f.note != "" {
		d.notes = append(d.notes, f.note)
	}
	return d, nil
}

// torchFunction is the signature of forward.
type torchFunction struct {
	inputs, outputs []namedTensor
	note            string
}

// maxCode bounds the size of one source file of an archive.
const maxCode = 64 << 20

func readTorchScript(z *zip.Reader) (*torchFunction, error) {
	folder := ""
	for _, f := range z.File {
		if dir, name := path.Split(f.Name); name == "data.pkl" && strings.Count(dir, "/") == 1 {
			folder = dir
		}
	}
	if folder == "" {
		return nil, errors.New("it is not a TorchScript archive: it has no data.pkl; save the model with torch.jit.save")
	}
	module, class, err := rootClass(z, folder+"data.pkl")
	if err != nil {
		return nil, err
	}
	code, err := z.Open(folder + "code/" + strings.ReplaceAll(module, ".", "/") + ".py")
	if err != nil {
		return nil, fmt.Errorf("it is not a TorchScript archive: the code of %s.%s is missing; save the model with torch.jit.save", module, class)
	}
	defer code.Close()
	text, err := io.ReadAll(io.LimitReader(code, maxCode))
	if err != nil {
		return nil, err
	}
	return forwardOf(string(text), class)
}

// rootClass returns the class of the object in a pickle: the first that it names.
func rootClass(z *zip.Reader, name string) (module, class string, err error) {
	f, err := z.Open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, 64<<10))
	head := make([]byte, 3)
	if _, err := io.ReadFull(r, head); err != nil || head[0] != 0x80 || head[2] != 'c' { // PROTO, GLOBAL
		return "", "", errors.New("it is not a TorchScript archive: data.pkl does not hold a module; save the model with torch.jit.save")
	}
	for _, to := range []*string{&module, &class} {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", "", errors.New("data.pkl is truncated")
		}
		*to = strings.TrimSuffix(line, "\n")
	}
	if !strings.HasPrefix(module, "__torch__") || !path.IsAbs("/"+module) || strings.Contains(module, "/") {
		return "", "", fmt.Errorf("it is not a TorchScript archive: data.pkl holds a %s.%s; save the model with torch.jit.save", module, class)
	}
	return module, class, nil
}

// forwardHead finds the head of a method forward.
var forwardHead = regexp.MustCompile(`(?m)^ +def forward\(`)

// forwardOf reads the signature of the method forward of a class.
func forwardOf(code, class string) (*torchFunction, error) {
	start := regexp.MustCompile(`(?m)^class ` + regexp.QuoteMeta(class) + `\(.*\):$`).FindStringIndex(code)
	if start == nil {
		return nil, fmt.Errorf("the class %s is not in its file", class)
	}
	body := code[start[1]:]
	if next := strings.Index(body, "\nclass "); next >= 0 {
		body = body[:next]
	}
	at := forwardHead.FindStringIndex(body)
	if at == nil {
		return nil, fmt.Errorf("the class %s has no method forward", class)
	}
	arguments, rest, ok := closing(body[at[1]:])
	if !ok {
		return nil, errors.New("the head of forward is truncated")
	}
	result := ""
	if after, found := strings.CutPrefix(rest, " -> "); found {
		result, _, _ = strings.Cut(after, ":\n")
	}
	var f torchFunction
	if err := f.arguments(arguments); err != nil {
		return nil, err
	}
	f.results(strings.Join(strings.Fields(result), " "))
	return &f, nil
}

// closing splits a text behind an opening parenthesis at the one that closes it.
func closing(text string) (inside, rest string, ok bool) {
	depth := 0
	for i, c := range text {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth < 0 {
				return text[:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

// splitTypes splits a list at the commas that are not in brackets.
func splitTypes(text string) (all []string) {
	depth, start := 0, 0
	for i, c := range text {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	return append(all, strings.TrimSpace(text[start:]))
}

// arguments reads the arguments of forward behind self. Those that are no tensors must have a
// default.
func (f *torchFunction) arguments(text string) error {
	all := splitTypes(text)
	for i, argument := range all[1:] {
		name, kind, typed := strings.Cut(argument, ":")
		kind, _, hasDefault := strings.Cut(kind, "=")
		kind = strings.TrimSpace(kind)
		switch {
		case !typed:
			return fmt.Errorf("argument %d of forward has no type", i+1)
		case kind == "Tensor" && len(f.inputs) == i:
			f.inputs = append(f.inputs, torchTensor(name))
		case hasDefault || strings.HasPrefix(kind, "Optional["):
			f.note = fmt.Sprintf("argument '%s' of forward has its default: no input is written for it", name)
		default:
			return fmt.Errorf("argument '%s' of forward is %s: the backend passes tensors only", name, kind)
		}
	}
	if len(f.inputs) == 0 {
		return errors.New("forward takes no tensor")
	}
	return nil
}

// results reads the type that forward returns.
func (f *torchFunction) results(kind string) {
	n := 1
	if inside, ok := strings.CutPrefix(kind, "Tuple["); ok {
		n = len(splitTypes(strings.TrimSuffix(inside, "]")))
	} else if kind != "Tensor" {
		f.note = fmt.Sprintf("forward returns %s: name its outputs in the configuration", kind)
	}
	for i := range n {
		f.outputs = append(f.outputs, torchTensor(fmt.Sprintf("OUTPUT__%d", i)))
	}
}

func torchTensor(name string) namedTensor {
	return unknownRank(strings.TrimSpace(name), inferencepb.DataType_TYPE_FP32)
}
