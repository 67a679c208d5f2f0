package parlance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

var ownPackage = reflect.TypeOf(Client{}).PkgPath()

// encode returns the JSON of a body. Unlike encoding/json with omitempty, it sends empty lists and maps of the types of this
// package: a patch empties a member by them.
func encode(body any) ([]byte, error) {
	value, err := membersOf(reflect.ValueOf(body))
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// membersOf returns a value of the types of this package as maps and lists. Other values stay, so that they keep the JSON that
// their types have.
func membersOf(value reflect.Value) (any, error) {
	switch {
	case !value.IsValid():
		return nil, nil
	case value.Kind() == reflect.Pointer && !value.IsNil() && isOwn(value.Type().Elem()):
		return membersOf(value.Elem())
	case value.Kind() == reflect.Slice && !value.IsNil() && isOwn(value.Type().Elem()):
		list := make([]any, value.Len())
		for at := range list {
			one, err := membersOf(value.Index(at))
			if err != nil {
				return nil, err
			}
			list[at] = one
		}
		return list, nil
	case isOwn(value.Type()):
		return structMembers(value)
	}
	return value.Interface(), nil
}

func isOwn(kind reflect.Type) bool {
	return kind.Kind() == reflect.Struct && kind.PkgPath() == ownPackage
}

func structMembers(value reflect.Value) (map[string]any, error) {
	members := map[string]any{}
	known := map[string]bool{}
	for at := 0; at < value.NumField(); at++ {
		name, options, _ := strings.Cut(value.Type().Field(at).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		known[name] = true
		if options == "omitempty" && value.Field(at).IsNil() {
			continue
		}
		member, err := membersOf(value.Field(at))
		if err != nil {
			return nil, err
		}
		members[name] = member
	}
	cleared := value.FieldByName("Clear")
	if !cleared.IsValid() {
		return members, nil
	}
	for _, name := range cleared.Interface().([]string) {
		if !known[name] {
			return nil, fmt.Errorf("parlance: Clear has %q, which is no member of %s", name, value.Type().Name())
		}
		members[name] = nil
	}
	return members, nil
}
