<?php

declare(strict_types=1);

namespace Parlance;

/** Verifies webhook requests (Standard Webhooks 1.0.0). */
final class Webhook
{
    /** Maximum difference between the timestamp of a signature and the current time, in seconds. */
    private const TOLERANCE = 300;

    /**
     * Returns the event of a request that Parlance signed with one of the secrets within the last 5 minutes: its type,
     * timestamp and data. Throws WebhookError for any other request. A message may arrive more than once: compare the
     * header webhook-id with the ids of handled messages.
     *
     * @param string|list<string> $secrets whsec_ and Base64. While a secret is being replaced, both secrets
     * @param array<string, string|list<string>> $headers by name in any case, as from getallheaders()
     * @param string $body as received, before it is parsed
     * @param int|null $now the current time in Unix seconds
     * @return array{type: string, timestamp: string, data: array<string, mixed>}
     */
    public static function verify(string|array $secrets, array $headers, string $body, ?int $now = null): array
    {
        $lower = [];
        foreach ($headers as $name => $value) {
            $lower[strtolower((string) $name)] = implode(' ', (array) $value);
        }
        $id = $lower['webhook-id'] ?? '';
        $timestamp = $lower['webhook-timestamp'] ?? '';
        if ($id === '' || preg_match('/^\d{1,12}\z/', $timestamp) !== 1) {
            throw new WebhookError('headers', 'The request has no webhook-id or no webhook-timestamp: pass all of its headers');
        }
        $seconds = ($now ?? time()) - (int) $timestamp;
        if (abs($seconds) > self::TOLERANCE) {
            $when = $seconds > 0 ? "$seconds s ago" : -$seconds . ' s in the future';
            throw new WebhookError('timestamp', "The request was signed $when, more than " . self::TOLERANCE . ' s: check the clock');
        }
        $keys = array_filter(array_map(self::keyIn(...), (array) $secrets), fn (string $key) => $key !== '');
        if ($keys === []) {
            throw new WebhookError('secret', 'No secret is whsec_ and Base64, as the console shows it');
        }
        if (!self::isSigned($keys, "$id.$timestamp.$body", $lower['webhook-signature'] ?? '')) {
            throw new WebhookError('signature', 'No secret made the signature: check the secret, and pass the body exactly as received');
        }
        $event = json_decode($body, true);
        if (!is_array($event) || !is_string($event['type'] ?? null)) {
            throw new WebhookError('body', 'The body is signed and has no event');
        }
        return $event;
    }

    private static function keyIn(string $secret): string
    {
        return (string) base64_decode((string) preg_replace('/^whsec_/', '', $secret), true);
    }

    /** @param array<string> $keys */
    private static function isSigned(array $keys, string $signed, string $header): bool
    {
        foreach ($keys as $key) {
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
            foreach (array_slice(explode(' ', $header), 0, 10) as $part) {
                if (hash_equals($expected, $part)) {
                    return true;
                }
            }
        }
        return false;
    }
}
