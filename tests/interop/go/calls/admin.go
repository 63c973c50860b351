package main

import (
	"context"

	adminv1 "github.com/iop-edge/iop-edge/gen/go/iop/admin/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var modes = map[string]adminv1.RefreshMode{
	"dry-run": adminv1.RefreshMode_REFRESH_MODE_DRY_RUN,
	"apply":   adminv1.RefreshMode_REFRESH_MODE_APPLY,
}

// propose hands an Edge a config, and then asks what it runs.
func propose(ctx context.Context, address, mode string) error {
	content, err := readInput()
	if err != nil {
		return err
	}
	connection, err := dialAdmin(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	edge := adminv1.NewEdgeAdminServiceClient(connection)
	refresh, err := edge.Refresh(ctx, &adminv1.RefreshRequest{
		Mode:   modes[mode],
		Layers: []*adminv1.ConfigLayer{{Name: "edge.yaml", Content: content}},
	})
	if err != nil {
		return err
	}
	if err := show(refresh.GetResult()); err != nil {
		return err
	}
	found, err := edge.GetStatus(ctx, &adminv1.GetStatusRequest{})
	if err != nil {
		return err
	}
	return show(found.GetSnapshot())
}

// explain asks an Edge what would become of a new request.
func explain(ctx context.Context, address, model string) error {
	connection, err := dialAdmin(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	edge := adminv1.NewEdgeAdminServiceClient(connection)
	found, err := edge.ExplainDispatch(ctx, &adminv1.ExplainDispatchRequest{Model: model})
	if err != nil {
		return err
	}
	return show(found.GetExplanation())
}

func dialAdmin(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}
