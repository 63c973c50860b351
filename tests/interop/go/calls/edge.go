package main

import (
	"context"

	runtimev1 "github.com/iop-edge/iop-edge/gen/go/iop/runtime/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

const (
	protocolVersion = 1
	edgeID          = "edge-in-go"
	instanceID      = "instance-in-go"
)

// pushOnce opens a session with a Node, checks a payload there, commits it, and asks what the Node runs.
func pushOnce(ctx context.Context, address, token string) error {
	binary, err := readInput()
	if err != nil {
		return err
	}
	payload := &runtimev1.NodeConfigPayload{}
	if err := proto.Unmarshal(binary, payload); err != nil {
		return err
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	node := runtimev1.NewNodeConfigServiceClient(connection)
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)

	greeting, err := node.Handshake(ctx, &runtimev1.HandshakeRequest{
		ProtocolVersion: protocolVersion, EdgeId: edgeID, EdgeInstanceId: instanceID,
	})
	if err != nil {
		return err
	}
	if err := show(greeting); err != nil {
		return err
	}
	health, err := node.WatchHealth(ctx, &runtimev1.WatchHealthRequest{EdgeId: edgeID, EdgeInstanceId: instanceID})
	if err != nil {
		return err
	}
	if _, err := health.Recv(); err != nil {
		return err
	}
	for _, mode := range []runtimev1.NodeConfigRefreshMode{
		runtimev1.NodeConfigRefreshMode_NODE_CONFIG_REFRESH_MODE_DRY_RUN,
		runtimev1.NodeConfigRefreshMode_NODE_CONFIG_REFRESH_MODE_COMMIT,
	} {
		answer, err := node.NodeConfigRefresh(ctx, &runtimev1.NodeConfigRefreshRequest{
			EdgeId: edgeID, EdgeInstanceId: instanceID, Mode: mode, Generation: 7, Revision: 3,
			PayloadHash: []byte("tag"), Payload: payload,
		})
		if err != nil {
			return err
		}
		if err := show(answer); err != nil {
			return err
		}
	}
	report, err := health.Recv()
	if err != nil {
		return err
	}
	if err := show(report); err != nil {
		return err
	}
	status, err := node.NodeConfigStatus(ctx, &runtimev1.NodeConfigStatusRequest{})
	if err != nil {
		return err
	}
	return show(status)
}
