package main

import (
	"fmt"
	"reflect"

	configv1 "github.com/iop-edge/iop-edge/gen/go/iop/config/v1"
	optionsv1 "github.com/iop-edge/iop-edge/gen/go/iop/options/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"
)

// extensions is the struct field that takes the top-level keys which are no part of the schema. What stands under them is
// not looked into.
const extensions = "Extensions"

// forms are the types of what may be written in several forms, by message. yaml.v3 has no such types, so each reads its
// value when it has seen which form it is in.
var forms = map[protoreflect.FullName]struct{ message, list reflect.Type }{
	"iop.config.v1.HealthCheck": {message: reflect.TypeFor[messageOrScalar[*configv1.HealthCheck]]()},
	"iop.config.v1.ModelProvider": {
		message: reflect.TypeFor[messageOrScalar[*configv1.ModelProvider]](),
		list:    reflect.TypeFor[listOrMapping[*configv1.ModelProvider, string]](),
	},
	"iop.config.v1.AdapterInstance": {
		list: reflect.TypeFor[listOrMapping[*configv1.AdapterInstance, messageOrList[*configv1.AdapterInstance]]](),
	},
}

// rootType returns the type of a whole config.
func rootType(message protoreflect.MessageDescriptor) reflect.Type {
	fields := append(structFields(message), reflect.StructField{
		Name: extensions, Type: reflect.TypeFor[map[string]yaml.Node](), Tag: `yaml:",inline" json:"-"`,
	})
	return reflect.StructOf(fields)
}

// structFields returns a field for each spelling of each key of a message. All are pointers: what is not set is nil.
func structFields(message protoreflect.MessageDescriptor) []reflect.StructField {
	var fields []reflect.StructField
	for index := range message.Fields().Len() {
		field := message.Fields().Get(index)
		rules := proto.GetExtension(field.Options(), optionsv1.E_Field).(*optionsv1.FieldRules)
		for _, key := range append(rules.GetAliases(), string(field.Name())) {
			fields = append(fields, reflect.StructField{
				Name: "F_" + key,
				Type: reflect.PointerTo(fieldType(field)),
				Tag:  reflect.StructTag(fmt.Sprintf(`yaml:"%s" json:"%s,omitempty"`, key, key)),
			})
		}
	}
	return fields
}

func fieldType(field protoreflect.FieldDescriptor) reflect.Type {
	switch {
	case field.IsMap():
		return reflect.MapOf(scalarType(field.MapKey()), scalarType(field.MapValue()))
	case field.Message() != nil && field.IsList():
		return listType(field.Message())
	case field.Message() != nil:
		return messageType(field.Message())
	case field.IsList():
		return reflect.SliceOf(scalarType(field))
	}
	return scalarType(field)
}

func listType(message protoreflect.MessageDescriptor) reflect.Type {
	if form := forms[message.FullName()].list; form != nil {
		return form
	}
	return reflect.SliceOf(messageType(message))
}

func messageType(message protoreflect.MessageDescriptor) reflect.Type {
	if form := forms[message.FullName()].message; form != nil {
		return form
	}
	return reflect.StructOf(structFields(message))
}

func scalarType(field protoreflect.FieldDescriptor) reflect.Type {
	switch field.Kind() {
	case protoreflect.StringKind, protoreflect.EnumKind:
		return reflect.TypeFor[string]()
	case protoreflect.BoolKind:
		return reflect.TypeFor[bool]()
	case protoreflect.Int32Kind:
		return reflect.TypeFor[int32]()
	case protoreflect.Int64Kind:
		return reflect.TypeFor[int64]()
	case protoreflect.Uint32Kind:
		return reflect.TypeFor[uint32]()
	case protoreflect.Uint64Kind:
		return reflect.TypeFor[uint64]()
	case protoreflect.DoubleKind:
		return reflect.TypeFor[float64]()
	}
	panic(fmt.Sprintf("%s: no Go type for %s", field.FullName(), field.Kind()))
}

func descriptorOf[M proto.Message]() protoreflect.MessageDescriptor {
	var message M
	return message.ProtoReflect().Descriptor()
}
