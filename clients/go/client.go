// Package parlance calls the API of Parlance, the content personalization service.
//
// The types and methods of operations.go are generated from the OpenAPI document of the public operations.
package parlance

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Version is the version of this client.
const Version = "0.2.0"

const (
	longestPause = 30 * time.Second
	maxBytes     = 32 << 20
)

// Options of a client. URL, Org and APIKey are required.
type Options struct {
	// URL is the address of the service, such as https://parlance.example.com.
	URL string
	// Org is the organization, as in paths of the API.
	Org string
	// APIKey is a key with the scopes that the calls require.
	APIKey string
	// Timeout of each attempt. Default: 2 seconds.
	Timeout time.Duration
	// Retries is the maximum number of retries. Default: 2. Negative: none.
	Retries int
	// HTTPClient replaces http.DefaultClient. Its redirects and its timeout are not used.
	HTTPClient *http.Client
}

// Client calls the API for one organization, with one key. It is safe for concurrent use.
type Client struct {
	url, org, key string
	timeout       time.Duration
	retries       int
	http          http.Client
}

// New returns a client, or an error for options with which every request would fail.
func New(options Options) (*Client, error) {
	address, err := url.Parse(options.URL)
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") {
		return nil, fmt.Errorf("parlance: URL must be the address of the service, such as https://parlance.example.com, not %q", options.URL)
	}
	if options.Org == "" || options.APIKey == "" || strings.ContainsAny(options.APIKey, " \r\n") {
		return nil, errors.New("parlance: Org and APIKey are required, and a key has no spaces or line breaks")
	}
	client := &Client{
		url:     strings.TrimRight(options.URL, "/"),
		org:     url.PathEscape(options.Org),
		key:     options.APIKey,
		timeout: options.Timeout,
		retries: options.Retries,
	}
	if options.HTTPClient != nil {
		client.http = *options.HTTPClient
	}
	// The target of a redirect would receive the key.
	client.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if client.timeout == 0 {
		client.timeout = 2 * time.Second
	}
	if client.retries == 0 {
		client.retries = 2
	}
	return client, nil
}

// Fault is one fault of a request. Pointer is a JSON pointer into the body, or the name of a query parameter.
type Fault struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Problem means that the service refused a request (RFC 9457). Type has no path, such as recipient-suppressed.
type Problem struct {
	Type      string
	Status    int
	Title     string
	Detail    string
	Errors    []Fault
	RequestID string
	// RetryAfter is the time to wait before a retry. Negative without a Retry-After.
	RetryAfter time.Duration
	// Members has all members of the response, such as reason of recipient-suppressed.
	Members map[string]any
}

func (p *Problem) Error() string {
	parts := []string{p.Title}
	if p.Detail != "" {
		parts = append(parts, p.Detail)
	}
	for _, fault := range p.Errors {
		parts = append(parts, fault.Pointer+" "+fault.Detail)
	}
	text := strings.Join(parts, ": ")
	if p.RequestID != "" {
		text += " (request " + p.RequestID + ")"
	}
	return text
}

// Unavailable means that no answer arrived. Reason is timeout, refused, dns, tls, network, or answer for an answer that
// does not come from Parlance.
type Unavailable struct {
	URL      string
	Attempts int
	Reason   string
	Cause    error
}

func (u *Unavailable) Error() string {
	return fmt.Sprintf("%s did not answer in %d attempts (%s): %v", u.URL, u.Attempts, u.Reason, u.Cause)
}

func (u *Unavailable) Unwrap() error { return u.Cause }

var errNotParlance = errors.New("the answer is not one of Parlance")

func reasonOf(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, errNotParlance):
		return "answer"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.As(err, &dns):
		return "dns"
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"), strings.Contains(err.Error(), "tls:"), strings.Contains(err.Error(), "x509:"):
		return "tls"
	}
	return "network"
}

type call struct {
	method, path string
	query        url.Values
	headers      http.Header
	body         any
	// once: a retry could carry out the call twice, so it is retried only if the service did not accept it.
	once bool
}

func valuesOf(query map[string]string) url.Values {
	values := url.Values{}
	for name, value := range query {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

func headersOf(headers map[string]string) http.Header {
	found := http.Header{}
	for name, value := range headers {
		if value == "" && name == "idempotency-key" {
			value = newID()
		}
		if value != "" {
			found.Set(name, value)
		}
	}
	return found
}

func newID() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", id)
}

// send sends a call, and retries it after a pause if a retry may succeed. into is a *[]byte for a text, nil for an answer
// without content, and otherwise receives the JSON.
func (c *Client) send(ctx context.Context, call call, into any) (http.Header, error) {
	var body []byte
	if call.body != nil {
		var err error
		if body, err = encode(call.body); err != nil {
			return nil, err
		}
	}
	for number := 1; ; number++ {
		header, err := c.attempt(ctx, call, body, into)
		if err == nil {
			return header, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		pause := time.Duration(math.Min(float64(longestPause), 1e8*math.Pow(2, float64(number-1))) * (0.5 + mathrand.Float64()/2))
		var problem *Problem
		if errors.As(err, &problem) {
			if problem.RetryAfter > 0 {
				pause += problem.RetryAfter
			}
			if number > c.retries || !mayPass(problem.Status, call.once) || pause > longestPause {
				return nil, err
			}
		} else {
			reason := reasonOf(err)
			if number > c.retries || (call.once && reason != "refused" && reason != "dns") {
				return nil, &Unavailable{URL: c.url, Attempts: number, Reason: reason, Cause: err}
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func mayPass(status int, once bool) bool {
	switch status {
	case 429:
		return true
	case 408, 425, 500, 502, 503, 504:
		return !once
	}
	return false
}

func (c *Client) attempt(ctx context.Context, call call, body []byte, into any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	address := c.url + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if call.headers != nil {
		request.Header = call.headers.Clone()
	}
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("User-Agent", "parlance-go/"+Version+" ("+runtime.Version()+")")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, problemOf(response, text)
	}
	if raw, isText := into.(*[]byte); isText {
		*raw = text
	} else if into != nil && (len(text) > maxBytes || json.Unmarshal(text, into) != nil) {
		return nil, fmt.Errorf("%w: status %d", errNotParlance, response.StatusCode)
	}
	return response.Header, nil
}

func problemOf(response *http.Response, text []byte) *Problem {
	problem := &Problem{
		Type:       "unknown",
		Status:     response.StatusCode,
		Title:      fmt.Sprintf("The service answered %d", response.StatusCode),
		RequestID:  response.Header.Get("X-Request-Id"),
		RetryAfter: -1,
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		problem.RetryAfter = time.Duration(seconds) * time.Second
	}
	if location := response.Header.Get("Location"); location != "" {
		problem.Detail = "URL must be the address that answers itself. It redirected to " + location
	}
	var body struct {
		Type, Title, Detail string
		Errors              []Fault
	}
	if json.Unmarshal(text, &problem.Members) == nil && json.Unmarshal(text, &body) == nil {
		if body.Type != "" {
			problem.Type = body.Type[strings.LastIndex(body.Type, "/")+1:]
		}
		if body.Title != "" {
			problem.Title = body.Title
		}
		problem.Detail, problem.Errors = body.Detail, body.Errors
	}
	return problem
}

func exportRows(cursor string, page func(cursor string) (http.Header, []byte, error), row func(map[string]any) error) (string, error) {
	for {
		header, text, err := page(cursor)
		if err != nil {
			return cursor, err
		}
		for _, line := range bytes.Split(text, []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			var one map[string]any
			if err := json.Unmarshal(line, &one); err != nil {
				return cursor, fmt.Errorf("%w: %v", errNotParlance, err)
			}
			if err := row(one); err != nil {
				return cursor, err
			}
		}
		cursor = header.Get("Parlance-Cursor")
		if header.Get("Parlance-More") != "true" {
			return cursor, nil
		}
	}
}
