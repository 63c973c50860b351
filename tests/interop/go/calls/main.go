// Command calls speaks the project's gRPC services with grpc-go: as an Edge, as a Node, and as a client of an Edge.
//
//	calls edge ADDRESS TOKEN    pushes the NodeConfigPayload (binary) on standard input to a Node
//	calls node ID TOKEN [ADDRESS]
//	    is a Node, on a free port where it is not told one; writes its address, then each payload that it runs. It
//	    refuses a concurrency above 100; one of 66 passes its check and is refused when it is to run
//	calls fleet COUNT HUNG TOKEN
//	    is the Nodes node-0, node-1, ... on free ports, of which the first HUNG answer no push; writes their addresses
//	calls admin ADDRESS MODE    proposes the layer on standard input, dry-run or apply, then asks for the status
//	calls explain ADDRESS MODEL asks what would become of a new request
//
// Messages are written to standard output in protojson, one a line. Servers run until their standard input ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
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
		return serveNode(arguments[1], arguments[2], "127.0.0.1:0")
	case len(arguments) == 4 && arguments[0] == "node":
		return serveNode(arguments[1], arguments[2], arguments[3])
	case len(arguments) == 4 && arguments[0] == "fleet":
		count, errCount := strconv.Atoi(arguments[1])
		hung, errHung := strconv.Atoi(arguments[2])
		if err := errors.Join(errCount, errHung); err != nil {
			return err
		}
		return serveFleet(count, hung, arguments[3])
	case len(arguments) == 3 && arguments[0] == "admin":
		return propose(ctx, arguments[1], arguments[2])
	case len(arguments) == 3 && arguments[0] == "explain":
		return explain(ctx, arguments[1], arguments[2])
	}
	return errors.New("usage: calls edge ADDRESS TOKEN | node ID TOKEN [ADDRESS] | fleet COUNT HUNG TOKEN | admin ADDRESS MODE | explain ADDRESS MODEL")
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
