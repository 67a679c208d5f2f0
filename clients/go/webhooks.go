package parlance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// toleranceSeconds is the maximum difference between the timestamp of a signature and the current time.
const toleranceSeconds = 300

// WebhookEvent is the body of a webhook request. The OpenAPI document of the service has the members of each type under
// webhooks.
type WebhookEvent struct {
	// Type is the name of the event, such as suppression.added.
	Type string `json:"type"`
	// Timestamp is the time of the event or batch, ISO 8601.
	Timestamp string `json:"timestamp"`
	// Data has the members of the event. Batches, such as message.clicked, have at most 1,000 events.
	Data map[string]any `json:"data"`
}

// WebhookError means that Parlance did not sign a request, or that its body has no event. Respond with a status from 400
// to 499.
type WebhookError struct {
	// Fault is headers, timestamp, secret, signature or body.
	Fault   string
	message string
}

func (e *WebhookError) Error() string { return "parlance: " + e.message }

// VerifyWebhook returns the event of a request that Parlance signed with one of the secrets within the last 5 minutes
// (Standard Webhooks 1.0.0). Pass both secrets while one replaces the other, and the body as received. The error for any
// other request is a *WebhookError. A message may arrive more than once: compare the header webhook-id with the ids of
// handled messages.
func VerifyWebhook(secrets []string, headers http.Header, body []byte) (*WebhookEvent, error) {
	return verifyWebhookAt(secrets, headers, body, time.Now())
}

func verifyWebhookAt(secrets []string, headers http.Header, body []byte, now time.Time) (*WebhookEvent, error) {
	id, stamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	signedAt, err := strconv.ParseUint(stamp, 10, 40)
	if id == "" || err != nil {
		return nil, &WebhookError{"headers", "the request has no webhook-id or no webhook-timestamp: pass all of its headers"}
	}
	if seconds := now.Unix() - int64(signedAt); seconds > toleranceSeconds || seconds < -toleranceSeconds {
		when := fmt.Sprintf("%d s ago", seconds)
		if seconds < 0 {
			when = fmt.Sprintf("%d s in the future", -seconds)
		}
		return nil, &WebhookError{"timestamp", fmt.Sprintf("the request was signed %s, more than %d s: check the clock", when, toleranceSeconds)}
	}
	keys := keysIn(secrets)
	if len(keys) == 0 {
		return nil, &WebhookError{"secret", "no secret is whsec_ and Base64, as the console shows it"}
	}
	if !isSigned(keys, append([]byte(id+"."+stamp+"."), body...), headers.Get("webhook-signature")) {
		return nil, &WebhookError{"signature", "no secret made the signature: check the secret, and pass the body exactly as received"}
	}
	event := &WebhookEvent{}
	if err := json.Unmarshal(body, event); err != nil || event.Type == "" {
		return nil, &WebhookError{"body", "the body is signed and has no event"}
	}
	return event, nil
}

func keysIn(secrets []string) [][]byte {
	keys := [][]byte{}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err == nil && len(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

func isSigned(keys [][]byte, signed []byte, header string) bool {
	parts := strings.SplitN(header, " ", 11)
	if len(parts) > 10 {
		parts = parts[:10]
	}
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write(signed)
		expected := mac.Sum(nil)
		for _, part := range parts {
			signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part, "v1,"))
			if err == nil && strings.HasPrefix(part, "v1,") && hmac.Equal(signature, expected) {
				return true
			}
		}
	}
	return false
}
