package main

import (
	"context"
	"fmt"
	"net"
	"sync"

	runtimev1 "github.com/iop-edge/iop-edge/gen/go/iop/runtime/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// node takes every payload that is its own.
type node struct {
	runtimev1.UnimplementedNodeConfigServiceServer

	id, token string

	mutex   sync.Mutex
	running *runtimev1.RunningPayload
}

// serveNode is a Node until its standard input ends.
func serveNode(id, token string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := grpc.NewServer()
	runtimev1.RegisterNodeConfigServiceServer(server, &node{id: id, token: token})
	go func() {
		_, _ = readInput()
		server.Stop()
	}()
	return server.Serve(listener)
}

func (n *node) check(ctx context.Context) error {
	given, _ := metadata.FromIncomingContext(ctx)
	if shown := given.Get("authorization"); len(shown) != 1 || shown[0] != "Bearer "+n.token {
		return status.Error(codes.Unauthenticated, "wrong token")
	}
	return nil
}

// Handshake opens a session.
func (n *node) Handshake(ctx context.Context, _ *runtimev1.HandshakeRequest) (*runtimev1.HandshakeResponse, error) {
	if err := n.check(ctx); err != nil {
		return nil, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return &runtimev1.HandshakeResponse{ProtocolVersion: protocolVersion, NodeId: n.id, Running: n.running}, nil
}

// NodeConfigRefresh takes a payload.
func (n *node) NodeConfigRefresh(
	ctx context.Context, request *runtimev1.NodeConfigRefreshRequest,
) (*runtimev1.NodeConfigRefreshResponse, error) {
	if err := n.check(ctx); err != nil {
		return nil, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if request.GetMode() == runtimev1.NodeConfigRefreshMode_NODE_CONFIG_REFRESH_MODE_COMMIT {
		n.running = &runtimev1.RunningPayload{
			Generation: request.GetGeneration(), PayloadHash: request.GetPayloadHash(), Revision: request.GetRevision(),
		}
		if err := show(request.GetPayload()); err != nil {
			return nil, err
		}
	}
	return &runtimev1.NodeConfigRefreshResponse{
		Outcome: runtimev1.NodeConfigRefreshOutcome_NODE_CONFIG_REFRESH_OUTCOME_COMMITTED,
		Running: proto.CloneOf(n.running),
	}, nil
}

// WatchHealth says once that nothing is known, and keeps the session.
func (n *node) WatchHealth(
	_ *runtimev1.WatchHealthRequest, stream grpc.ServerStreamingServer[runtimev1.WatchHealthResponse],
) error {
	if err := n.check(stream.Context()); err != nil {
		return err
	}
	if err := stream.Send(&runtimev1.WatchHealthResponse{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}
