package agentgrpc

import (
	"time"

	"google.golang.org/grpc"
)

// NewImpatientClient waits less for the end of a stream.
func NewImpatientClient(conn grpc.ClientConnInterface, linger time.Duration) *Client {
	c := NewClient(conn)
	c.linger = linger
	return c
}
