// Package scaler is the command scaler: an external scaler for KEDA. It reads the metrics of all replicas of a server, this
// program or NVIDIA's, and tells how much work there is.
package scaler

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/scrape"
)

// maxMessage bounds a message of KEDA: a trigger is a few names and numbers.
const maxMessage = 64 << 10

// options holds what the flags set.
type options struct {
	address  string
	replicas []string
	headers  []string
	tls      client.TLSFiles
	cert     string
	key      string
	clientCA string
	interval time.Duration
	timeout  time.Duration
	config   string
}

func (o *options) bind(f *flags.Set) {
	f.StringVar(&o.address, "address", "0.0.0.0:6000", "address of the scaler: scalerAddress in the ScaledObject")
	f.StringArrayVar(&o.replicas, "replicas", nil, "metrics of the replicas, HOST:PORT or a URL; each address of the host's name is a replica, as of a headless Service; may be repeated; required")
	f.DurationVar(&o.interval, "interval", 5*time.Second, "time between two readings of the replicas")
	f.DurationVar(&o.timeout, "timeout", 3*time.Second, "longest time that a replica may take to answer")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "header of every request to a replica, NAME:VALUE, such as an API key; may be repeated")
	f.StringVar(&o.tls.Root, "tls-ca-file", "", "root certificates of the replicas, PEM (default the machine's)")
	f.StringVar(&o.tls.Cert, "tls-cert-file", "", "certificate for the replicas with its chain, PEM")
	f.StringVar(&o.tls.Key, "tls-key-file", "", "key of --tls-cert-file, PEM")
	f.StringVar(&o.tls.ServerName, "tls-server-name", "", "name in the certificates of the replicas")
	f.StringVar(&o.cert, "scaler-cert-file", "", "certificate of the scaler with its chain, PEM; KEDA then needs caCert")
	f.StringVar(&o.key, "scaler-key-file", "", "key of --scaler-cert-file, PEM")
	f.StringVar(&o.clientCA, "scaler-client-ca-file", "", "root certificates of KEDA, PEM: others are refused")
	f.StringVar(&o.config, "config", "", "YAML or JSON file with the values of flags")
}

// NewCommand returns the command scaler.
func NewCommand(p process.Process) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "scaler",
		Short: "Tell KEDA how many replicas of a server there is work for",
		Long: `Serve KEDA's protocol for external scalers over the metrics of all replicas of a
server. A trigger of the type external or external-push names the scaler in
scalerAddress and chooses with its metadata:

  metric                 ` + strings.Join(metricNames(), ", ") + ` (default in-flight)
  targetValue            how much of it one replica shall have; required
  activationTargetValue  there is work above this value (default 0)
  modelName              the model; without it all
  modelVersion           its version; without it all

docs/autoscaling.md says what each metric is for, and what scaling from zero needs.`,
		Example: `  triton scaler --replicas triton-pods.ml-serving.svc:8002`,
		Args:    cobra.ArbitraryArgs,
	}
	f := flags.New(p, "scaler", cmd.Flags())
	o.bind(f)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return process.UsageError("%w", flags.Suggest(f, err)) })
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return process.UsageError("scaler takes no arguments, %q was given: name the replicas with --replicas", args[0])
		}
		ctx, stop := p.Interruptible(cmd.Context())
		defer stop()
		return o.run(ctx, slog.New(slog.NewTextHandler(p.Stderr, nil)))
	}
	return cmd
}

func (o *options) check() error {
	switch {
	case len(o.replicas) == 0:
		return process.UsageError("name the metrics of the replicas with --replicas HOST:PORT")
	case o.interval < 100*time.Millisecond:
		return process.UsageError("--interval: %v is less than 100ms", o.interval)
	case o.timeout <= 0:
		return process.UsageError("--timeout: %v is not a time", o.timeout)
	case (o.cert == "") != (o.key == ""):
		return process.UsageError("give both --scaler-cert-file and --scaler-key-file")
	case o.clientCA != "" && o.cert == "":
		return process.UsageError("--scaler-client-ca-file needs --scaler-cert-file and --scaler-key-file")
	}
	for _, a := range o.replicas {
		if _, err := scrape.Resolve(a); err != nil {
			return process.UsageError("--replicas: %w", err)
		}
	}
	return nil
}

// run serves until the context ends.
func (o *options) run(ctx context.Context, log *slog.Logger) error {
	if err := o.check(); err != nil {
		return err
	}
	headers, err := flags.Headers(o.headers)
	if err != nil {
		return err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	if o.tls != (client.TLSFiles{}) {
		if transport.TLSClientConfig, err = o.tls.Config(); err != nil {
			return err
		}
	}
	serverOptions, err := o.serverOptions()
	if err != nil {
		return err
	}
	get := scrape.Client(transport)
	s := newScaler(reader{
		Replicas: func(ctx context.Context) ([]string, error) {
			return resolve(ctx, net.DefaultResolver, o.replicas)
		},
		Read: func(ctx context.Context, address string) (*reading, error) {
			page, err := scrape.Source{URL: address, Headers: headers, Client: get}.Read(ctx)
			if err != nil {
				return nil, err
			}
			return newReading(page, time.Now()), nil
		},
		Interval: o.interval, Timeout: o.timeout, Log: log,
	})
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if err != nil {
		return fmt.Errorf("scaler: %w", err)
	}
	if o.cert == "" {
		log.Warn("the scaler answers anybody without TLS: keep its port inside the cluster, or use --scaler-cert-file and --scaler-client-ca-file")
	}
	server := grpc.NewServer(serverOptions...)
	s.Register(server)
	healthpb.RegisterHealthServer(server, health.NewServer())
	log.Info("the scaler serves", "address", lis.Addr().String())
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	running.Go(func() {
		<-ctx.Done()
		server.Stop() // streams of KEDA stay open for good; it connects again
	})
	err = server.Serve(lis)
	cancel()
	running.Wait()
	if errors.Is(err, grpc.ErrServerStopped) {
		err = nil
	}
	return err
}

// serverOptions returns the limits of the scaler, and its certificate.
func (o *options) serverOptions() ([]grpc.ServerOption, error) {
	all := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxConcurrentStreams(1000),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if o.cert == "" {
		return all, nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the scaler: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.clientCA != "" {
		pem, err := os.ReadFile(o.clientCA)
		if err != nil {
			return nil, fmt.Errorf("root certificates of KEDA: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("root certificates of KEDA: %s has no PEM certificate", o.clientCA)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return append(all, grpc.Creds(credentials.NewTLS(config))), nil
}
