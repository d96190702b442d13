package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// memory is two registered regions: the input, and space for the output.
type memory struct {
	server  string
	in, out string // regions and files
	tensor  []byte
}

func openMemory(server string, index int, tensor []byte) (*memory, error) {
	name := fmt.Sprintf("wireload-%d-%d", os.Getpid(), index)
	m := &memory{server: server, in: name + "-in", out: name + "-out", tensor: tensor}
	for region, content := range map[string][]byte{m.in: tensor, m.out: make([]byte, len(tensor))} {
		if err := os.WriteFile(file(region), content, 0o600); err != nil {
			m.close()
			return nil, err
		}
		if err := m.post(region, "register", fmt.Sprintf(`{"key":"/%s","byte_size":%d}`, region, len(tensor))); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

func file(region string) string { return "/dev/shm/" + region }

func (m *memory) post(region, what, body string) error {
	url := fmt.Sprintf("http://%s/v2/systemsharedmemory/region/%s/%s", m.server, region, what)
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", what, region, resp.Status)
	}
	return nil
}

// close unregisters the regions.
func (m *memory) close() {
	for _, region := range []string{m.in, m.out} {
		_ = m.post(region, "unregister", "")
		_ = os.Remove(file(region))
	}
}

// check compares the output with the input. With a nil memory it does nothing.
func (m *memory) check() error {
	if m == nil {
		return nil
	}
	got, err := os.ReadFile(file(m.out))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, m.tensor) {
		return errors.New("the output in shared memory is not the input")
	}
	return nil
}
