// Command messages reads messages that others have encoded, and writes them again, with Go's official protobuf.
//
// It takes one request a line on standard input and answers each with one line on standard output, both in JSON.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/iop-edge/iop-edge/gen/go/iop/admin/v1"
	_ "github.com/iop-edge/iop-edge/gen/go/iop/config/v1"
	_ "github.com/iop-edge/iop-edge/gen/go/iop/options/v1"
	_ "github.com/iop-edge/iop-edge/gen/go/iop/runtime/v1"
)

// request is a message in one or both of its forms.
type request struct {
	Message string          `json:"message"`
	Binary  []byte          `json:"binary"`
	JSON    json.RawMessage `json:"json,omitempty"`
}

// answer is what Go makes of a request.
type answer struct {
	// Binary is the message that was read from the binary form, encoded again.
	Binary []byte `json:"binary"`
	// JSON is the message that was read from the binary form, in protojson.
	JSON json.RawMessage `json:"json,omitempty"`
	// FromJSON is the message that was read from the JSON form, in binary.
	FromJSON []byte `json:"from_json,omitempty"`
	// Error says why there is no answer.
	Error string `json:"error,omitempty"`
}

func main() {
	log.SetFlags(0)
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	for in.More() {
		var asked request
		if err := in.Decode(&asked); err != nil {
			return err
		}
		given, err := reply(asked)
		if err != nil {
			given = answer{Error: err.Error()}
		}
		if err := answers.Encode(given); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func reply(asked request) (answer, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(asked.Message))
	if err != nil {
		return answer{}, err
	}
	message := kind.New().Interface()
	if err := proto.Unmarshal(asked.Binary, message); err != nil {
		return answer{}, fmt.Errorf("binary: %w", err)
	}
	if err := refuseUnknown(message.ProtoReflect()); err != nil {
		return answer{}, err
	}
	var given answer
	if given.Binary, err = encoded(message); err != nil {
		return answer{}, err
	}
	if len(asked.JSON) == 0 {
		return given, nil
	}
	if given.JSON, err = protojson.Marshal(message); err != nil {
		return answer{}, fmt.Errorf("to JSON: %w", err)
	}
	read := kind.New().Interface()
	if err := protojson.Unmarshal(asked.JSON, read); err != nil {
		return answer{}, fmt.Errorf("from JSON: %w", err)
	}
	given.FromJSON, err = encoded(read)
	return given, err
}

func encoded(message proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(message)
}

// refuseUnknown fails for a field that the Go code does not know: its protos would be older than the sender's.
func refuseUnknown(message protoreflect.Message) error {
	if len(message.GetUnknown()) > 0 {
		return fmt.Errorf("%s: unknown fields", message.Descriptor().FullName())
	}
	var found error
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() && field.MapValue().Message() != nil:
			value.Map().Range(func(_ protoreflect.MapKey, item protoreflect.Value) bool {
				found = errors.Join(found, refuseUnknown(item.Message()))
				return true
			})
		case field.IsList() && field.Message() != nil:
			for index := range value.List().Len() {
				found = errors.Join(found, refuseUnknown(value.List().Get(index).Message()))
			}
		case field.Message() != nil && !field.IsMap():
			found = errors.Join(found, refuseUnknown(value.Message()))
		}
		return true
	})
	return found
}
