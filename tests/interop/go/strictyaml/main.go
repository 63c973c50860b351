// Command strictyaml reads configs as a careful Go service would: with yaml.v3, unknown fields refused, into typed structs.
//
// It takes one config a line on standard input, as a JSON text in base64, and answers each with one line of JSON on
// standard output.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"

	configv1 "github.com/iop-edge/iop-edge/gen/go/iop/config/v1"
	"gopkg.in/yaml.v3"
)

// answer is what Go makes of a config: what it reads, or why it refuses.
type answer struct {
	Config any    `json:"config,omitempty"`
	Error  string `json:"error,omitempty"`
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
		var text []byte
		if err := in.Decode(&text); err != nil {
			return err
		}
		config, err := read(text)
		given := answer{Config: config}
		if err != nil {
			given = answer{Error: err.Error()}
		}
		if err := answers.Encode(given); err != nil {
			return err
		}
	}
	return out.Flush()
}

// read returns the struct that a config fills. yaml.v3 panics at some texts, which is an error like others here.
func read(text []byte) (read any, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	config := reflect.New(rootType(descriptorOf[*configv1.EdgeConfig]()))
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(config.Interface()); err != nil {
		return nil, err
	}
	for _, key := range config.Elem().FieldByName(extensions).MapKeys() {
		if name := key.String(); name != "$schema" && !strings.HasPrefix(name, "x-") {
			return nil, fmt.Errorf("field %s not found", name)
		}
	}
	return config.Interface(), nil
}
