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
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/onnxmodel"
)

//go:embed trained
var trainedFiles embed.FS

// pretrained describes a trained model: the package that has it, and its files.
type pretrained struct {
	name    string // of the model
	wheel   wheel
	graph   string // the ONNX file in the wheel
	sha256  string // of the graph
	license string // the license's file in the wheel; "" when the wheel has none
	// extra returns further files of the model's folder by name; nil: there are none.
	extra func(files *zip.Reader, graph []byte) (map[string][]byte, error)
}

// trainedCatalog returns every trained model, in the order in which they are written.
func trainedCatalog() []model {
	var all []model
	for _, p := range []pretrained{{
		name: "voice_activity",
		wheel: wheel{
			name: "silero-vad", version: "6.2.3", file: "silero_vad-6.2.3-py3-none-any.whl",
			sha256: "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
		},
		graph:   "silero_vad/data/silero_vad_openvino_16k.onnx",
		sha256:  "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87",
		license: "silero_vad-6.2.3.dist-info/licenses/LICENSE",
		extra: func(*zip.Reader, []byte) (map[string][]byte, error) {
			return map[string][]byte{"sample.wav": voiceSample()}, nil
		},
	}, {
		name: "file_type",
		wheel: wheel{
			name: "magika", version: "1.0.3", file: "magika-1.0.3-py3-none-manylinux_2_28_x86_64.whl",
			sha256: "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
		},
		graph:  "magika/models/standard_v3_3/model.onnx",
		sha256: "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
		extra:  fileTypeLabels,
	}, {
		name: "text_recognition",
		wheel: wheel{
			name: "rapidocr-onnxruntime", version: "1.4.4", file: "rapidocr_onnxruntime-1.4.4-py3-none-any.whl",
			sha256: "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
		},
		graph:  "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
		sha256: "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
		extra:  characters,
	}} {
		all = append(all, model{name: p.name, config: storedTrainedConfig(p.name), trained: &p})
	}
	return all
}

func storedTrainedConfig(name string) func() (string, error) {
	return func() (string, error) {
		b, err := trainedFiles.ReadFile("trained/" + name + ".pbtxt")
		return string(b), err
	}
}

// writeTrained writes everything but the configuration of a trained model into
// its folder and returns the bytes.
func (r *repository) writeTrained(ctx context.Context, folder string, p *pretrained) (int64, error) {
	path, err := r.fetch.get(ctx, p.wheel, r.staging)
	if err != nil {
		return 0, err
	}
	files, err := zip.OpenReader(path)
	if err != nil {
		return 0, fmt.Errorf("open package %s: %w", p.wheel.file, err)
	}
	defer files.Close()
	contents, err := p.contents(&files.Reader)
	if err != nil {
		return 0, err
	}
	if err := os.Mkdir(filepath.Join(folder, "1"), 0o755); err != nil {
		return 0, err
	}
	total := int64(0)
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), content, 0o644); err != nil {
			return 0, err
		}
		total += int64(len(content))
	}
	return total, nil
}

// contents returns the files of a trained model's folder by name.
func (p *pretrained) contents(files *zip.Reader) (map[string][]byte, error) {
	graph, err := readMember(files, p.graph)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(graph); hex.EncodeToString(sum[:]) != p.sha256 {
		return nil, fmt.Errorf("%s of package %s has the sha256 %x, not %s: nothing was written", p.graph, p.wheel.file, sum, p.sha256)
	}
	all := map[string][]byte{}
	if p.extra != nil {
		if all, err = p.extra(files, graph); err != nil {
			return nil, fmt.Errorf("package %s: %w", p.wheel.file, err)
		}
	}
	all["1/model.onnx"] = graph
	if p.license != "" {
		if all["LICENSE"], err = readMember(files, p.license); err != nil {
			return nil, err
		}
	}
	if all["client.py"], err = trainedFiles.ReadFile("trained/" + p.name + ".py"); err != nil {
		return nil, err
	}
	all["v2.py"], err = trainedFiles.ReadFile("trained/v2.py")
	return all, err
}

// readMember reads one file of a package.
func readMember(files *zip.Reader, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("package has no %s: %w", name, err)
	}
	defer f.Close()
	return io.ReadAll(f)
}

// fileTypeLabels reads the labels from magika's settings.
func fileTypeLabels(files *zip.Reader, _ []byte) (map[string][]byte, error) {
	text, err := readMember(files, "magika/models/standard_v3_3/config.min.json")
	if err != nil {
		return nil, err
	}
	var settings struct {
		Labels []string `json:"target_labels_space"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	return map[string][]byte{"labels.txt": []byte(strings.Join(settings.Labels, "\n") + "\n")}, nil
}

// characters reads the alphabet from the graph's metadata and appends the space.
func characters(_ *zip.Reader, graph []byte) (map[string][]byte, error) {
	outline, err := onnxmodel.Read(bytes.NewReader(graph), int64(len(graph)))
	if err != nil {
		return nil, fmt.Errorf("read alphabet: %w", err)
	}
	lines := strings.TrimRight(outline.Metadata["character"], "\n")
	return map[string][]byte{"characters.txt": []byte(lines + "\n "), "sample.pgm": textImage("TRITON 42 SERVES")}, nil
}
