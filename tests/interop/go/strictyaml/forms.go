package main

import (
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"
)

// written is a value in the form that its file has it in.
type written struct{ value any }

// MarshalJSON returns the value in its form.
func (w *written) MarshalJSON() ([]byte, error) {
	return json.Marshal(w.value)
}

// read reads the value into the type that its form asks for.
//
// It decodes with the function that the decoder gives it, since a Node's own Decode would take unknown fields.
func (w *written) read(decode func(any) error, types map[yaml.Kind]reflect.Type) error {
	var seen form
	if err := decode(&seen); err != nil {
		return err
	}
	wanted, ok := types[seen.kind]
	if !ok {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: cannot unmarshal this form", seen.line)}}
	}
	w.value = reflect.New(wanted).Interface()
	return decode(w.value)
}

// form is what a value is written as, and where.
type form struct {
	kind yaml.Kind
	line int
}

// UnmarshalYAML looks at the value, and reads nothing of it.
func (f *form) UnmarshalYAML(node *yaml.Node) error {
	f.kind, f.line = node.Kind, node.Line
	return nil
}

// messageOrScalar is a message that a scalar may stand for.
type messageOrScalar[M proto.Message] struct{ written }

// UnmarshalYAML reads either form.
func (m *messageOrScalar[M]) UnmarshalYAML(decode func(any) error) error {
	return m.read(decode, map[yaml.Kind]reflect.Type{
		yaml.MappingNode: reflect.StructOf(structFields(descriptorOf[M]())),
		yaml.ScalarNode:  reflect.TypeFor[string](),
	})
}

// messageOrList is a message, or several of them.
type messageOrList[M proto.Message] struct{ written }

// UnmarshalYAML reads either form.
func (m *messageOrList[M]) UnmarshalYAML(decode func(any) error) error {
	one := messageType(descriptorOf[M]())
	return m.read(decode, map[yaml.Kind]reflect.Type{yaml.MappingNode: one, yaml.SequenceNode: reflect.SliceOf(one)})
}

// listOrMapping is a list of messages that a mapping may stand for.
type listOrMapping[M proto.Message, Value any] struct{ written }

// UnmarshalYAML reads either form.
func (l *listOrMapping[M, Value]) UnmarshalYAML(decode func(any) error) error {
	return l.read(decode, map[yaml.Kind]reflect.Type{
		yaml.SequenceNode: reflect.SliceOf(messageType(descriptorOf[M]())),
		yaml.MappingNode:  reflect.TypeFor[map[string]*Value](),
	})
}
