package remote

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// awsMetadataWait bounds a request to the metadata service of a machine, which most machines lack.
const awsMetadataWait = 2 * time.Second

// s3Login is how requests are signed.
type s3Login struct {
	creds  *credentials.Credentials
	region string
}

// login returns the credentials for a path: those of the credential file if there is one, else those
// of the environment, else of the shared file and of the platform, else none.
func (s *s3Source) login() (s3Login, error) {
	getenv := s.env.Getenv
	l := s3Login{region: cmp.Or(getenv("AWS_DEFAULT_REGION"), getenv("AWS_REGION"))}
	file, err := readCredentials(getenv)
	if err != nil {
		return l, err
	}
	profile := getenv("AWS_PROFILE")
	if file != nil {
		c, err := matchCredentials(file.S3, s.path)
		if err != nil {
			return l, err
		}
		l.region = cmp.Or(c.Region, l.region)
		if c.KeyID != "" {
			l.creds = credentials.NewStaticV4(c.KeyID, c.SecretKey, c.SessionToken)
			return l, nil
		}
		l.creds = s.chain(cmp.Or(c.Profile, profile))
		return l, nil
	}
	if id := getenv("AWS_ACCESS_KEY_ID"); id != "" {
		l.creds = credentials.NewStaticV4(id, getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN"))
		return l, nil
	}
	l.creds = s.chain(profile)
	return l, nil
}

// chain returns the credentials of a profile or of the platform. Without any, requests are anonymous.
func (s *s3Source) chain(profile string) *credentials.Credentials {
	getenv := s.env.Getenv
	shared := getenv("AWS_SHARED_CREDENTIALS_FILE")
	if shared == "" {
		home, _ := os.UserHomeDir() // without one there is no shared file
		shared = filepath.Join(home, ".aws", "credentials")
	}
	all := []credentials.Provider{&credentials.FileAWSCredentials{Filename: shared, Profile: cmp.Or(profile, "default")}}
	onAmazon := s.at.endpoint == "" && getenv("AWS_EC2_METADATA_DISABLED") != "true"
	if onAmazon || getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" || getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" {
		all = append(all, &credentials.IAM{Client: &http.Client{Timeout: awsMetadataWait}})
	}
	return credentials.NewChainCredentials(all)
}
