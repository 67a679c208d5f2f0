package parlance

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"
)

type contractCase struct {
	Name, Operation string
	Input           struct {
		Path, Query, Headers map[string]string
		Body                 json.RawMessage
	}
	Exchanges []struct {
		Request struct{ Path string }
	}
	Outcome struct {
		Answer      any
		Rows        []any
		Problem     map[string]any
		Unavailable string
	}
}

// Plays the contract suite against the imitated service at PARLANCE_CONTRACT.
func TestContract(t *testing.T) {
	address := os.Getenv("PARLANCE_CONTRACT")
	if address == "" {
		t.Skip("PARLANCE_CONTRACT is not set: see clients/contract/README.md")
	}
	var cases []contractCase
	getJSON(t, address+"/cases", &cases)
	for _, one := range cases {
		t.Run(one.Name, func(t *testing.T) { play(t, address, one) })
	}
	var report struct{ Faults []string }
	getJSON(t, address+"/report", &report)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
}

// Sends empty lists and null where a patch means them, and leaves other values as their types encode them.
func TestBodies(t *testing.T) {
	type own struct {
		Name string `json:"name,omitempty"`
	}
	strict := false
	for _, one := range []struct {
		body     any
		expected string
	}{
		{TemplatePatch{}, `{}`},
		{TemplatePatch{Tags: []string{}, Strict: &strict}, `{"strict":false,"tags":[]}`},
		{TemplatePatch{Holdout: &TemplatePatchHoldout{Share: 0.1, Content: "even"}}, `{"holdout":{"content":"even","share":0.1}}`},
		{TemplatePatch{Clear: []string{"holdout", "owner"}}, `{"holdout":null,"owner":null}`},
		{GenerateRequest{TemplateID: "a", Attrs: map[string]any{}}, `{"attrs":{},"template_id":"a"}`},
		{GenerateRequest{TemplateID: "a", Fields: map[string]any{"user": own{}}}, `{"fields":{"user":{}},"template_id":"a"}`},
		{map[string]any{"events": []any{}}, `{"events":[]}`},
		{[]any{}, `[]`},
	} {
		found, err := encode(one.body)
		if err != nil || string(found) != one.expected {
			t.Errorf("expected %s, got %s, %v", one.expected, found, err)
		}
	}
	if _, err := encode(TemplatePatch{Clear: []string{"holdot"}}); err == nil {
		t.Error("expected a fault for an unknown member")
	}
}

// Verifies the webhook requests of the contract suite.
func TestWebhooks(t *testing.T) {
	text, err := os.ReadFile("../contract/webhooks.json")
	if err != nil {
		t.Skip("clients/contract is not here")
	}
	var cases []struct {
		Name, Body string
		Secrets    []string
		Headers    map[string]string
		Now        int64
		Outcome    struct {
			Event  map[string]any
			Reason string
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, one := range cases {
		t.Run(one.Name, func(t *testing.T) {
			headers := http.Header{}
			for name, value := range one.Headers {
				headers.Set(name, value)
			}
			event, err := verifyWebhookAt(one.Secrets, headers, []byte(one.Body), time.Unix(one.Now, 0))
			var fault *WebhookError
			if one.Outcome.Reason != "" {
				if !errors.As(err, &fault) || fault.Fault != one.Outcome.Reason {
					t.Errorf("expected %s, got %v", one.Outcome.Reason, err)
				}
			} else if err != nil || !reflect.DeepEqual(asJSON(t, event), any(one.Outcome.Event)) {
				t.Errorf("expected %v, got %v, %v", one.Outcome.Event, event, err)
			}
		})
	}
}

func getJSON(t *testing.T, address string, into any) {
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func play(t *testing.T, address string, one contractCase) {
	name := url.PathEscape(strings.ReplaceAll(one.Name, " ", "-"))
	client, err := New(Options{URL: address + "/" + name, Org: "acme", APIKey: "plk_EXAMPLE", Timeout: 20e9})
	if err != nil {
		t.Fatal(err)
	}
	rows := []any{}
	result, err := invoke(t, client, one, &rows)
	var problem *Problem
	var unavailable *Unavailable
	switch {
	case one.Outcome.Problem != nil:
		if !errors.As(err, &problem) {
			t.Fatalf("expected a problem, got %v", err)
		}
		pointers := []any{}
		for _, fault := range problem.Errors {
			pointers = append(pointers, fault.Pointer)
		}
		found := map[string]any{"type": problem.Type, "status": float64(problem.Status), "pointers": pointers}
		if problem.RequestID != "" {
			found["request_id"] = problem.RequestID
		}
		if !reflect.DeepEqual(found, one.Outcome.Problem) {
			t.Errorf("expected %v, got %v", one.Outcome.Problem, found)
		}
	case one.Outcome.Unavailable != "":
		if !errors.As(err, &unavailable) || unavailable.Reason != one.Outcome.Unavailable {
			t.Errorf("expected %s, got %v", one.Outcome.Unavailable, err)
		}
	case err != nil:
		t.Error(err)
	case one.Outcome.Rows != nil:
		if page, isPage := result.(map[string]any); isPage && len(page) == 1 {
			for _, list := range page {
				rows = list.([]any)
			}
		}
		if !contains(rows, any(one.Outcome.Rows)) {
			t.Errorf("expected %v, got %v", one.Outcome.Rows, rows)
		}
	case one.Outcome.Answer != nil:
		if !contains(one.Outcome.Answer, result) {
			t.Errorf("expected a part of %v, got %v", one.Outcome.Answer, result)
		}
	}
}

// invoke calls the method of the operation with the input of the case, and returns its result as JSON.
func invoke(t *testing.T, client *Client, one contractCase, rows *[]any) (any, error) {
	name := strings.ToUpper(one.Operation[:1]) + one.Operation[1:]
	method := reflect.ValueOf(client).MethodByName(name + "Each")
	if !method.IsValid() {
		method = reflect.ValueOf(client).MethodByName(name)
	}
	path := valuesInOrder(one.Input.Path, one.Exchanges[0].Request.Path)
	in := []reflect.Value{reflect.ValueOf(context.Background())}
	for n := 1; n < method.Type().NumIn(); n++ {
		kind := method.Type().In(n)
		switch {
		case kind.Kind() == reflect.String && len(path) > 0:
			in = append(in, reflect.ValueOf(path[0]))
			path = path[1:]
		case kind.Kind() == reflect.String:
			in = append(in, reflect.ValueOf(one.Input.Headers["idempotency-key"]))
		case kind.Kind() == reflect.Func:
			in = append(in, reflect.MakeFunc(kind, func(args []reflect.Value) []reflect.Value {
				*rows = append(*rows, asJSON(t, args[0].Interface()))
				return []reflect.Value{reflect.Zero(kind.Out(0))}
			}))
		case strings.HasSuffix(kind.Name(), "Query"):
			query := reflect.New(kind).Elem()
			for name, value := range one.Input.Query {
				for f := 0; f < kind.NumField(); f++ {
					if strings.EqualFold(kind.Field(f).Name, strings.ReplaceAll(name, "_", "")) {
						query.Field(f).SetString(value)
					}
				}
			}
			in = append(in, query)
		default:
			body := reflect.New(kind)
			if err := json.Unmarshal(one.Input.Body, body.Interface()); err != nil {
				t.Fatal(err)
			}
			in = append(in, body.Elem())
		}
	}
	out := method.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return asJSON(t, out[0].Interface()), err
}

// valuesInOrder returns the parameters of a path in the order in which they occur in it.
func valuesInOrder(path map[string]string, written string) []string {
	values := []string{}
	for _, value := range path {
		values = append(values, value)
	}
	at := func(value string) int { return strings.LastIndex(written+"/", "/"+url.PathEscape(value)+"/") }
	sort.Slice(values, func(a, b int) bool { return at(values[a]) < at(values[b]) })
	return values
}

func asJSON(t *testing.T, value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var found any
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// contains says whether every member of part is in whole. Members that the types do not declare may be missing in part.
func contains(whole, part any) bool {
	switch found := part.(type) {
	case map[string]any:
		all, isMap := whole.(map[string]any)
		if !isMap {
			return false
		}
		for name, value := range found {
			if value != nil && all[name] != nil && !contains(all[name], value) {
				return false
			}
		}
		return true
	case []any:
		all, isList := whole.([]any)
		if !isList || len(all) != len(found) {
			return false
		}
		for n := range found {
			if !contains(all[n], found[n]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(whole, part)
}
