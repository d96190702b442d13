// Command image writes a container image as an OCI archive, without a daemon and without a
// registry.
//
//	image -output FILE [options] PLATFORM=FOLDER[,FOLDER]...
//	image -unpack FOLDER FILE PLATFORM   writes the file system of an image into a folder
//
// Each folder becomes a layer. Two runs over the same content write the same bytes: entries are
// sorted, they belong to root and have the time of -epoch.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var o options
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	output := fs.String("output", "", "the archive to write")
	epoch := fs.Int64("epoch", 0, "the time of the image and of all files, in seconds (SOURCE_DATE_EPOCH)")
	entrypoint := fs.String("entrypoint", "", "program and first arguments, separated by blanks")
	command := fs.String("command", "", "the arguments that a caller may replace, separated by blanks")
	environment := fs.String("env", "", "variables, separated by blanks")
	ports := fs.String("ports", "", "ports, separated by blanks")
	labels := fs.String("labels", "", "key=value pairs, separated by semicolons")
	fs.StringVar(&o.name, "name", "", "repository and tag, for programs that load the archive")
	fs.StringVar(&o.user, "user", "65532:65532", "numbers of user and group")
	fs.StringVar(&o.workdir, "workdir", "/", "the working directory")
	into := fs.String("unpack", "", "the folder for the file system of an archive")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *into != "" {
		if fs.NArg() != 2 {
			return fmt.Errorf("usage: image -unpack FOLDER FILE PLATFORM")
		}
		return unpack(fs.Arg(0), fs.Arg(1), *into)
	}
	o.created = time.Unix(*epoch, 0).UTC()
	o.entrypoint, o.command = strings.Fields(*entrypoint), strings.Fields(*command)
	o.environment, o.ports = strings.Fields(*environment), strings.Fields(*ports)
	o.labels = map[string]string{}
	for pair := range strings.SplitSeq(*labels, ";") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			o.labels[key] = value
		}
	}
	for _, arg := range fs.Args() {
		name, folders, ok := strings.Cut(arg, "=")
		if !ok || folders == "" {
			return fmt.Errorf("%q is not PLATFORM=FOLDER[,FOLDER]", arg)
		}
		o.platforms = append(o.platforms, platform{name, strings.Split(folders, ",")})
	}
	if *output == "" || len(o.platforms) == 0 {
		return fmt.Errorf("usage: image -output FILE [options] PLATFORM=FOLDER[,FOLDER]")
	}
	report, err := write(*output, o)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(report)
	return err
}
