package modelconfig

import "strings"

// PassedOver reports whether a folder of a model repository is not a model, by its name: what file
// systems, version control and programs leave there. Triton takes it for a model that fails to load.
func PassedOver(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "lost+found" || folder == "__pycache__"
}
