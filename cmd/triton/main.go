// Command triton serves models, measures servers, sizes models and checks model
// repositories. Everything it does is in cmd/cli.
package main

import (
	"os"

	"triton/cmd/cli"
	"triton/cmd/cli/process"
)

// version and commit are set by the linker (see Makefile and .goreleaser.yaml).
var version, commit string

func main() {
	os.Exit(cli.Main(process.OS(version, commit)))
}
