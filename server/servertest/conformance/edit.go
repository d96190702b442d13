package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Repository sets the server's model repository, for questions that change it.
func (t *Target) Repository(dir string) { t.repository = dir }

// edit changes a file or folder of the repository. Paths are relative to it; ../ is a place
// that the server does not see.
func (t *Target) edit(command string, body []string) (string, error) {
	if t.repository == "" {
		return "", errors.New("the repository of the server is not known")
	}
	words := strings.Fields(command)
	if len(words) < 2 {
		return "", fmt.Errorf("edit %q is no command with a path", command)
	}
	path := func(i int) string { return filepath.Join(t.repository, filepath.FromSlash(words[i])) }
	switch {
	case words[0] == "remove":
		return done, os.RemoveAll(path(1))
	case words[0] == "rename" && len(words) == 3:
		return done, os.Rename(path(1), path(2))
	case words[0] == "write":
		return done, replace(path(1), strings.Join(body, "\n")+"\n")
	}
	return "", fmt.Errorf("edit has write, remove and rename, not %q", command)
}

const done = "done\n"

// replace writes a file so that a server sees the old or the new content.
func replace(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// The time without a change of the index after which a server that polls each second has seen
// its repository.
const settled = 3 * time.Second

var changing = regexp.MustCompile(`"(UN)?LOADING"`)

// calm waits until no model loads or unloads.
func (t *Target) calm(ctx context.Context) (string, error) {
	for {
		index, err := t.askHTTP(ctx, "POST /v2/repository/index", nil, nil)
		if err != nil || !changing.MatchString(index) {
			return done, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// settle waits until the index stands still. A server that tries a broken version again at
// each poll never does, so a time limit may follow.
func (t *Target) settle(ctx context.Context, limit string) (string, error) {
	end := time.Now().Add(patience)
	if limit != "" {
		d, err := time.ParseDuration(limit)
		if err != nil {
			return "", err
		}
		end = time.Now().Add(d)
	}
	for last, since := "", time.Now(); time.Since(since) < settled && time.Now().Before(end); {
		index, err := t.askHTTP(ctx, "POST /v2/repository/index", nil, nil)
		if err != nil {
			return "", err
		}
		if index != last || changing.MatchString(index) {
			last, since = index, time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return done, nil
}
