package perf

import (
	"errors"
	"fmt"

	"triton/cmd/cli/flags"
	"triton/perf/offline"
	"triton/pkg/client"
)

// offlineOptions holds what the flags set.
type offlineOptions struct {
	run      offline.Options
	client   client.Options
	server   flags.Server
	inputs   []string
	protocol string
	memory   int
}

func (o *offlineOptions) bind(f *flags.Set) {
	f.StringVarP(&o.run.Model, "model", "m", "", "model that answers the rows; required")
	f.StringVarP(&o.run.Version, "model-version", "x", "", "version of the model (default the newest)")
	f.StringArrayVar(&o.inputs, "input", nil, "file of rows: FILE.jsonl, FILE.parquet, FILE.npy, or INPUT=FILE.npy for each input; - reads JSON lines from standard input")
	f.StringVarP(&o.run.Output, "output", "o", "", "file of JSON lines to write; required")
	f.BoolVar(&o.run.Restart, "restart", false, "replace the output and drop what an ended run has written")
	f.IntVarP(&o.run.BatchSize, "batch-size", "b", 0, "rows in a request (default the model's max_batch_size)")
	f.IntVar(&o.run.Concurrency, "concurrency", 0, "requests at a time (default as many as raise the throughput)")
	f.IntVar(&o.run.Retries, "retries", offline.DefaultRetries, "times that a request is sent again when the server or the model is not available or the connection is lost")
	f.IntVar(&o.memory, "memory", offline.DefaultMemoryBytes>>20, "MiB of rows and responses that wait to be sent or written")
	o.server.Bind(f, "", "address of the server (default localhost:8000, with gRPC localhost:8001)", "header or gRPC metadata of every request, NAME:VALUE; may be repeated")
	f.StringVarP(&o.protocol, "protocol", "i", "http", "protocol: http or grpc")
}

// finish checks the flags and sets the options that depend on several of them.
func (o *offlineOptions) finish() error {
	protocol, err := client.ParseProtocol(o.protocol)
	if err != nil {
		return fmt.Errorf("--protocol: %w", err)
	}
	switch {
	case o.run.Model == "":
		return errors.New("name the model with -m MODEL")
	case len(o.inputs) == 0:
		return errors.New("name the file of rows with --input FILE")
	case o.run.Output == "":
		return errors.New("name the file to write with --output FILE")
	case o.run.BatchSize < 0:
		return fmt.Errorf("--batch-size: %d is less than 0", o.run.BatchSize)
	case o.run.Concurrency < 0:
		return fmt.Errorf("--concurrency: %d is less than 0", o.run.Concurrency)
	case o.run.Retries < 0:
		return fmt.Errorf("--retries: %d is less than 0", o.run.Retries)
	case o.memory < 1:
		return fmt.Errorf("--memory: %d MiB is less than 1", o.memory)
	}
	for _, text := range o.inputs {
		o.run.Inputs = append(o.run.Inputs, offline.ParseRowFile(text))
	}
	o.run.MemoryBytes = int64(o.memory) << 20
	o.client, err = o.server.Options(protocol)
	return err
}
