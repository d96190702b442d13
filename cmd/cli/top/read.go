package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"triton/pkg/client"
	"triton/pkg/scrape"
)

// read asks a server all that a sample has. One of its two ports is enough: what the other one would
// tell is missing, with a note. The error is that of the first port if none answers.
func read(ctx context.Context, s *connection, timeout time.Duration) (*sample, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var (
		all                         sync.WaitGroup
		meta                        *client.ServerMetadata
		index                       []*client.IndexEntry
		statistics                  []*client.ModelStatistics
		page                        *scrape.Page
		metaErr, indexErr, countErr error
		pageErr                     error
	)
	all.Go(func() { meta, metaErr = s.client.ServerMetadata(ctx) })
	all.Go(func() { index, indexErr = s.client.Index(ctx, false) })
	all.Go(func() { statistics, countErr = s.client.Statistics(ctx, "", "") })
	all.Go(func() { page, pageErr = s.metrics.Read(ctx) })
	all.Wait()
	if countErr != nil && pageErr != nil {
		return nil, errors.Join(brief(countErr), pageErr)
	}
	out := &sample{at: time.Now(), versions: map[version]*state{}}
	if metaErr == nil {
		out.server = strings.TrimSpace(meta.GetName() + " " + meta.GetVersion())
	}
	note := func(what string, err error) {
		if err != nil {
			out.notes = append(out.notes, fmt.Sprintf("%s: %v", what, brief(err)))
		}
	}
	if indexErr == nil {
		out.index(index)
	} else {
		note("no states of models", indexErr)
	}
	if countErr == nil {
		out.statistics(statistics)
	} else {
		note("no statistics, counters are those of the metrics", countErr)
	}
	if pageErr == nil {
		out.page(page)
	} else {
		note("no memory, queues and devices", pageErr)
	}
	return out, nil
}

// brief returns an error in one line.
func brief(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}
