package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
)

// Fingerprints returns an id for each finding that stays the same when lines move: it depends on
// the rule, the file and the message. Of findings that are equal in these, the second and further
// ones differ by their number. Files count as they are named in the findings.
func Fingerprints(found []Finding) []string {
	seen := make(map[string]int, len(found))
	ids := make([]string, len(found))
	for i, f := range found {
		key := strings.Join([]string{f.Rule, filepath.ToSlash(filepath.Clean(f.File)), LocalMessage(f)}, "\x00")
		n := seen[key]
		seen[key] = n + 1
		if n > 0 {
			key += "\x00" + strconv.Itoa(n)
		}
		sum := sha256.Sum256([]byte(key))
		ids[i] = hex.EncodeToString(sum[:16])
	}
	return ids
}

// LocalMessage returns the message without the path of the folder of the finding's file: the
// message about the same model in another place is the same.
func LocalMessage(f Finding) string {
	return strings.ReplaceAll(f.Msg, filepath.Dir(f.File)+string(filepath.Separator), "")
}
