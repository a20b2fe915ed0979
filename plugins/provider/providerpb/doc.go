// Package providerpb is provider.proto in Go: the messages of a provider as they
// are written, and the service. It is generated, and refuses to know what
// anything means: that is for plugins/provider and plugins/provider/providergrpc.
package providerpb
