// Package agentpb is agent.proto in Go: the messages of an agent as they are
// written, and the service. It is generated, and refuses to know what anything
// means: that is for plugins/agent and plugins/agent/agentgrpc.
package agentpb
