package example

import (
	"archive/zip"
	"embed"
	"maps"
)

//go:embed ocr
var ocrFiles embed.FS

// ocr returns the models that read the text of a picture: two graphs, and around them an
// ensemble with steps in Python, and one model in Python that calls the graphs. Both answer
// alike. text_recognition, which they call too, is in trainedCatalog.
func ocr() []model {
	steps := in("ocr_image", "text_detection", "ocr_lines", "text_recognition", "ocr_text")
	return []model{
		{name: "text_detection", files: ocrFolder("text_detection"), trained: &pretrained{
			wheel:  rapidOCR,
			graph:  "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
			sha256: "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
		}},
		{name: "ocr_image", files: ocrModel("ocr_image")},
		{name: "ocr_lines", files: ocrModel("ocr_lines")},
		{name: "ocr_text", files: ocrModel("ocr_text"), trained: alphabet()},
		{name: "ocr", files: ocrClient, versions: []version{{number: "1"}}, calls: steps},
		{name: "ocr_bls", files: ocrModel("ocr_bls"), trained: alphabet(), calls: in("text_detection", "text_recognition")},
	}
}

// recognition returns the origin of text_recognition.
func recognition() *pretrained {
	return &pretrained{
		wheel:  rapidOCR,
		graph:  "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
		sha256: "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
		extra: func(_ *zip.Reader, graph []byte) (files, error) {
			text, err := characters(graph)
			return files{"characters.txt": text, "sample.pgm": textImage("TRITON 42 SERVES")}, err
		},
	}
}

// alphabet returns the origin of a model that turns the output of text_recognition into text.
func alphabet() *pretrained {
	p := recognition()
	p.onlyExtra = true
	p.extra = func(_ *zip.Reader, graph []byte) (files, error) {
		text, err := characters(graph)
		return files{"1/characters.txt": text}, err
	}
	return p
}

func ocrFolder(name string) func() (files, error) {
	return func() (files, error) { return folder(ocrFiles, "ocr/"+name) }
}

// ocrModel returns the files of a model in Python. All share the files of one folder.
func ocrModel(name string) func() (files, error) {
	return func() (files, error) {
		all, err := folder(ocrFiles, "ocr/"+name)
		if err != nil {
			return nil, err
		}
		shared, err := folder(ocrFiles, "ocr/shared")
		maps.Copy(all, shared)
		return all, err
	}
}

// ocrClient returns the files of the ensemble, with a client and a picture.
func ocrClient() (files, error) {
	all, err := folder(ocrFiles, "ocr/ocr")
	if err != nil {
		return nil, err
	}
	if all["v2.py"], err = trainedFiles.ReadFile("trained/v2.py"); err != nil {
		return nil, err
	}
	all["sample.png"], err = page()
	return all, err
}
