package oci

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
)

// Credentials are those that Docker and other clients of registries share:
// config.json in $DOCKER_CONFIG or ~/.docker, and the credential helpers it
// names. Each is sent to the registry it was stored for alone.
type Credentials struct{}

func (*Credentials) open(plaintext bool) (*credentials.DynamicStore, error) {
	s, err := credentials.NewStoreFromDocker(credentials.StoreOptions{AllowPlaintextPut: plaintext, DetectDefaultNativeStore: true})
	if err != nil {
		return nil, fmt.Errorf("open the Docker credential store: %w", err)
	}
	return s, nil
}

// find is the credential for a registry; none when there is none.
func (c *Credentials) find(ctx context.Context, host string) (auth.Credential, error) {
	s, err := c.open(false)
	if err != nil {
		return auth.EmptyCredential, err
	}
	return credentials.Credential(s)(ctx, host)
}

// Token is the token that is stored under an address; empty for none.
func (c *Credentials) Token(ctx context.Context, address string) (string, error) {
	s, err := c.open(false)
	if err != nil {
		return "", err
	}
	cred, err := s.Get(ctx, address)
	return cred.Password, err
}

// Keep stores a token under an address.
func (c *Credentials) Keep(ctx context.Context, address, user, token string) (StoredCredential, error) {
	kept := StoredCredential{}
	for _, kept.Plaintext = range []bool{false, true} {
		s, err := c.open(kept.Plaintext)
		if err != nil {
			return kept, err
		}
		kept.Path = s.ConfigPath()
		err = s.Put(ctx, address, auth.Credential{Username: user, Password: token})
		if !errors.Is(err, credentials.ErrPlaintextPutDisabled) {
			return kept, err
		}
	}
	return kept, credentials.ErrPlaintextPutDisabled
}

// StoredCredential says where a credential was stored.
type StoredCredential struct {
	Path string `json:"path"` // of the configuration file
	// Plaintext says that it is in that file as it is, because the file names
	// no credential helper.
	Plaintext bool `json:"plaintext"`
}

// Login asks the registry of a connection whether a name and a password are
// good, and stores them.
func (c *Credentials) Login(ctx context.Context, to Connection, user, password string) (StoredCredential, error) {
	reg := &remote.Registry{RepositoryOptions: remote.RepositoryOptions{
		Reference: registry.Reference{Registry: registryOf(to.Endpoint.Host)}, Client: to.auth(), PlainHTTP: to.Endpoint.Scheme() == "http",
	}}
	s, err := c.open(false)
	if err != nil {
		return StoredCredential{}, err
	}
	cred := auth.Credential{Username: user, Password: password}
	kept := StoredCredential{Path: s.ConfigPath()}
	err = credentials.Login(ctx, s, reg, cred)
	if errors.Is(err, credentials.ErrPlaintextPutDisabled) {
		if s, err = c.open(true); err != nil {
			return StoredCredential{}, err
		}
		kept.Plaintext = true
		err = s.Put(ctx, credentials.ServerAddressFromRegistry(registryOf(to.Endpoint.Host)), cred)
	}
	if err != nil {
		return StoredCredential{}, translate(err)
	}
	return kept, nil
}

// Logout deletes the credential for a registry, or the token under an address. The error wraps
// [transfer.ErrNotFound] when there is none.
func (c *Credentials) Logout(ctx context.Context, host string) error {
	s, err := c.open(true)
	if err != nil {
		return err
	}
	name := host
	if !strings.Contains(host, "://") {
		name = credentials.ServerAddressFromRegistry(registryOf(host))
	}
	if cred, err := s.Get(ctx, name); err != nil || cred == auth.EmptyCredential {
		return errors.Join(fmt.Errorf("%w: no credentials for %s are stored", transfer.ErrNotFound, host), err)
	}
	return s.Delete(ctx, name)
}

// registryOf is the name of the registry at a host: Docker Hub has another name
// for that, under which its credentials are stored.
func registryOf(host string) string {
	if host == "registry-1.docker.io" {
		return "docker.io"
	}
	return host
}
