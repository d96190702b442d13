package store

import (
	"regexp"
	"slices"
	"strings"
)

// partialSuffixes are what programs append to the name of a file or a folder until it is complete:
// curl and wget in scripts, browsers, rclone, WinSCP, gsutil, huggingface-cli, aria2.
var partialSuffixes = []string{
	".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".filepart", ".incomplete", ".inprogress", ".aria2", ".gstmp",
}

// rsyncName is the form of rsync's temporary files, such as .model.onnx.Ab12Cd.
var rsyncName = regexp.MustCompile(`^\..+\.([A-Za-z0-9]{6})$`)

// IsPartial reports whether a name says that the file is still being written. The settle time is for
// all others. A file that tells that a folder is complete, such as _SUCCESS, has no meaning: most
// tools write none, so its absence says nothing.
func IsPartial(name string) bool {
	lower := strings.ToLower(name)
	if slices.ContainsFunc(partialSuffixes, func(s string) bool { return len(lower) > len(s) && strings.HasSuffix(lower, s) }) {
		return true
	}
	if strings.HasPrefix(name, ".~lock") || name == ".rsync-partial" {
		return true
	}
	// Six lower-case letters are more often a word, as in .config.backup, than chance.
	at := rsyncName.FindStringSubmatch(name)
	return at != nil && strings.ContainsAny(at[1], "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
