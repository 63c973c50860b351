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

const (
	maxConcurrency    = 100 // more is refused
	fickleConcurrency = 66  // passes its check, and is refused when it is to run
	unwellConcurrency = 13  // makes all resources unhealthy
)

const (
	committed = runtimev1.NodeConfigRefreshOutcome_NODE_CONFIG_REFRESH_OUTCOME_COMMITTED
	unchanged = runtimev1.NodeConfigRefreshOutcome_NODE_CONFIG_REFRESH_OUTCOME_UNCHANGED
	rejected  = runtimev1.NodeConfigRefreshOutcome_NODE_CONFIG_REFRESH_OUTCOME_REJECTED
	commit    = runtimev1.NodeConfigRefreshMode_NODE_CONFIG_REFRESH_MODE_COMMIT
)

// node tells `taken` of each payload that it runs from then on.
type node struct {
	runtimev1.UnimplementedNodeConfigServiceServer

	id, token string
	taken     func(*runtimev1.NodeConfigPayload) error
	ordered   bool // it refuses a generation that is not newer
	hangs     bool // it shakes hands, and answers no push

	mutex     sync.Mutex
	running   *runtimev1.RunningPayload
	resources []*runtimev1.ResourceHealth
	replaced  chan struct{} // closed when another payload runs
}

// serveNode is a Node until its standard input ends.
func serveNode(id, token, address string) error {
	taken := func(payload *runtimev1.NodeConfigPayload) error { return show(payload) }
	server, err := start(&node{id: id, token: token, taken: taken, ordered: true}, address)
	if err != nil {
		return err
	}
	_, err = readInput()
	server.Stop()
	return err
}

// serveFleet is many Nodes that keep to themselves what they run, until its standard input ends. They take generations
// in any order: several fleets may push to them in turn.
func serveFleet(count, hung int, token string) error {
	taken := func(*runtimev1.NodeConfigPayload) error { return nil }
	for index := range count {
		id := fmt.Sprintf("node-%d", index)
		server, err := start(&node{id: id, token: token, taken: taken, hangs: index < hung}, "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer server.Stop()
	}
	_, err := readInput()
	return err
}

// start serves a Node and writes its address.
func start(served *node, address string) (*grpc.Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	served.replaced = make(chan struct{})
	server := grpc.NewServer()
	runtimev1.RegisterNodeConfigServiceServer(server, served)
	go func() { _ = server.Serve(listener) }()
	fmt.Println(listener.Addr())
	return server, nil
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

// NodeConfigRefresh checks a payload, and takes it where that is asked for.
func (n *node) NodeConfigRefresh(
	ctx context.Context, request *runtimev1.NodeConfigRefreshRequest,
) (*runtimev1.NodeConfigRefreshResponse, error) {
	if err := n.check(ctx); err != nil {
		return nil, err
	}
	if n.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if refusal := n.refusal(request); refusal != nil {
		return n.answer(rejected, refusal), nil
	}
	if string(request.GetPayloadHash()) == string(n.running.GetPayloadHash()) {
		return n.answer(unchanged), nil
	}
	if request.GetMode() == commit {
		n.running = &runtimev1.RunningPayload{
			Generation: request.GetGeneration(), PayloadHash: request.GetPayloadHash(), Revision: request.GetRevision(),
		}
		n.examine(request.GetPayload())
		if err := n.taken(request.GetPayload()); err != nil {
			return nil, err
		}
	}
	return n.answer(committed), nil
}

func (n *node) refusal(request *runtimev1.NodeConfigRefreshRequest) *runtimev1.NodeViolation {
	if n.ordered && request.GetGeneration() <= n.running.GetGeneration() {
		return &runtimev1.NodeViolation{Rule: "node.generation", Path: "generation", Message: "is not newer"}
	}
	concurrency := request.GetPayload().GetRuntime().GetConcurrency()
	if concurrency > maxConcurrency || concurrency == fickleConcurrency && request.GetMode() == commit {
		return &runtimev1.NodeViolation{
			Rule: "node.concurrency", Path: "payload.runtime.concurrency", Message: "is more than this Node runs",
		}
	}
	return nil
}

func (n *node) answer(
	outcome runtimev1.NodeConfigRefreshOutcome, violations ...*runtimev1.NodeViolation,
) *runtimev1.NodeConfigRefreshResponse {
	return &runtimev1.NodeConfigRefreshResponse{
		Outcome: outcome, Running: proto.CloneOf(n.running), Violations: violations,
	}
}

// examine finds out how the resources of a payload are, and tells who watches.
func (n *node) examine(payload *runtimev1.NodeConfigPayload) {
	state, detail := runtimev1.ResourceHealthState_RESOURCE_HEALTH_STATE_HEALTHY, "seen from Go"
	if payload.GetRuntime().GetConcurrency() == unwellConcurrency {
		state, detail = runtimev1.ResourceHealthState_RESOURCE_HEALTH_STATE_UNHEALTHY, "unwell in Go"
	}
	n.resources = nil
	for _, resource := range payload.GetResources() {
		n.resources = append(n.resources, &runtimev1.ResourceHealth{
			ProviderId: resource.GetProviderId(), State: state, Detail: detail,
		})
	}
	close(n.replaced)
	n.replaced = make(chan struct{})
}

func (n *node) health() (*runtimev1.WatchHealthResponse, <-chan struct{}) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return &runtimev1.WatchHealthResponse{Generation: n.running.GetGeneration(), Resources: n.resources}, n.replaced
}

// WatchHealth says how the resources of each payload are, and keeps the session.
func (n *node) WatchHealth(
	_ *runtimev1.WatchHealthRequest, stream grpc.ServerStreamingServer[runtimev1.WatchHealthResponse],
) error {
	if err := n.check(stream.Context()); err != nil {
		return err
	}
	for {
		report, replaced := n.health()
		if err := stream.Send(report); err != nil {
			return err
		}
		select {
		case <-replaced:
		case <-stream.Context().Done():
			return nil
		}
	}
}
