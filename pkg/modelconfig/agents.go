package modelconfig

import (
	"crypto/md5" //nolint:gosec // the one algorithm that NVIDIA's agent has
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	pb "triton/pkg/inferencepb"
	"triton/pkg/status"
)

// KnownAgent reports whether this program has an agent.
func KnownAgent(name string) bool { return name == "checksum" }

// RunAgents runs the repository agents of a configuration that are part of this program, in order, on the model's
// directory. There is one, "checksum", which compares files of the model with their hashes. No library is loaded and
// no file changed. The findings have the order and the texts of NVIDIA's agents; a server reports the first.
func RunAgents(c *Config, dir fs.FS) []Finding {
	var found []Finding
	for i := range c.GetModelRepositoryAgents().GetAgents() {
		found = append(found, RunAgent(c, i, dir)...)
	}
	return found
}

// RunAgent runs one agent of a configuration.
func RunAgent(c *Config, i int, dir fs.FS) []Finding {
	r := agentRunner{validator{Config: c}, dir}
	a := c.GetModelRepositoryAgents().GetAgents()[i]
	path := fmt.Sprintf("model_repository_agents.agents[%d]", i)
	if KnownAgent(a.GetName()) {
		r.checksum(path, a)
	} else {
		r.add(ruleAgent, path, "remove the agent, or give a server its library with --repoagent-directory: only the agent 'checksum' is part of this program",
			"unable to find 'libtritonrepoagent_%s.so' for repo agent '%s'", a.GetName(), a.GetName())
	}
	return r.found
}

type agentRunner struct {
	validator
	dir fs.FS
}

// checksum compares every file that the agent's parameters name.
func (r *agentRunner) checksum(path string, a *pb.ModelRepositoryAgents_Agent) {
	for _, key := range slices.Sorted(maps.Keys(a.GetParameters())) {
		r.compare(fmt.Sprintf("%s.parameters[%q]", path, key), key, a.GetParameters()[key])
	}
}

// compare checks one file; key is "<algorithm>:<path in the model's directory>".
func (r *agentRunner) compare(path, key, want string) {
	algorithm, file, ok := strings.Cut(key, ":")
	switch {
	case !ok:
		r.add(ruleAgent, path, `write "MD5:<file>"`, "failed to parse key: %s", key)
		return
	case !strings.EqualFold(algorithm, "md5"):
		r.addCode(ruleAgent, status.Unsupported, path, "write MD5", "Unsupported checksum algorithm: %s", algorithm)
		return
	case !fs.ValidPath(file):
		r.add(ruleAgent, path, "name a file of the model",
			"failed to open text file for read %s: it is outside of the model's directory", file)
		return
	}
	got, err := r.md5(file)
	switch {
	case err != nil:
		r.add(ruleAgent, path, "name a file of the model", "failed to open text file for read %s: %s", file, fileReason(err))
	case got != want:
		r.add(ruleAgent, path, "restore the file, or write its hash",
			"Mismatched MD5 hash for file %s, expect: %s, got: %s", file, want, got)
	}
}

func (r *agentRunner) md5(file string) (string, error) {
	// To open a named pipe would wait for ever.
	if info, err := fs.Stat(r.dir, file); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := r.dir.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := md5.New() //nolint:gosec // as above
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fileReason returns the text of the operating system, capitalized as by strerror.
func fileReason(err error) string {
	var no syscall.Errno
	if errors.Is(err, fs.ErrNotExist) {
		no = syscall.ENOENT
	} else if !errors.As(err, &no) {
		return err.Error()
	}
	s := no.Error()
	return strings.ToUpper(s[:1]) + s[1:]
}
