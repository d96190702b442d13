// Command probe sends one inference request to a server: probe ADDRESS MODEL. The model returns
// the four numbers that it gets.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: probe ADDRESS MODEL")
	}
	resp, err := http.Post("http://"+args[0]+"/v2/models/"+args[1]+"/infer", "application/json",
		strings.NewReader(`{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[4],"data":[1,2,3,40]}]}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"data":[1,2,3,40]`)) {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}
