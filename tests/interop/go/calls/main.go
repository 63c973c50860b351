// Command calls speaks the project's gRPC services with grpc-go: as an Edge, as a Node, and as a client of an Edge.
//
//	calls edge ADDRESS TOKEN    pushes the NodeConfigPayload (binary) on standard input to a Node
//	calls node ID TOKEN         is a Node on a free port; writes its address, then each payload it commits
//	calls admin ADDRESS         proposes the layer on standard input as a dry run, then asks for the status
//
// Messages are written to standard output in protojson, one a line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const patience = 30 * time.Second

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(arguments []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch {
	case len(arguments) == 3 && arguments[0] == "edge":
		return pushOnce(ctx, arguments[1], arguments[2])
	case len(arguments) == 3 && arguments[0] == "node":
		return serveNode(arguments[1], arguments[2])
	case len(arguments) == 2 && arguments[0] == "admin":
		return propose(ctx, arguments[1])
	}
	return errors.New("usage: calls edge ADDRESS TOKEN | node ID TOKEN | admin ADDRESS")
}

func readInput() ([]byte, error) {
	return io.ReadAll(os.Stdin)
}

func show(message proto.Message) error {
	line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s\n", line)
	return err
}
