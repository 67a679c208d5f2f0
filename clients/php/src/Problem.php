<?php

declare(strict_types=1);

namespace Parlance;

/** The service refused a request. Contains the problem of the response (RFC 9457). */
final class Problem extends \RuntimeException
{
    /**
     * @param string $type without its path, such as recipient-suppressed
     * @param list<array{pointer: string, detail: string}> $errors every fault in the content of the request
     * @param float|null $retryAfter the time to wait before a retry, in seconds
     * @param array<string, mixed> $members all members of the response, such as reason of recipient-suppressed
     */
    public function __construct(
        public readonly string $type,
        public readonly int $status,
        public readonly string $title,
        public readonly ?string $detail,
        public readonly array $errors,
        public readonly ?string $requestId,
        public readonly ?float $retryAfter,
        public readonly array $members,
    ) {
        $faults = array_map(fn (array $fault) => "{$fault['pointer']} {$fault['detail']}", $errors);
        $text = implode(': ', array_filter([$title, $detail, ...$faults]));
        parent::__construct($requestId === null ? $text : "$text (request $requestId)");
    }

    /**
     * @param array<string, mixed> $body
     * @param array<string, string> $headers
     */
    public static function of(int $status, array $body, array $headers): self
    {
        $wait = $headers['retry-after'] ?? null;
        $isRedirect = isset($headers['location']);
        return new self(
            is_string($body['type'] ?? null) ? basename($body['type']) : 'unknown',
            $status,
            is_string($body['title'] ?? null) ? $body['title'] : "The service answered $status",
            $isRedirect
                ? "The URL must be the address that answers itself. It redirected to {$headers['location']}"
                : (is_string($body['detail'] ?? null) ? $body['detail'] : null),
            array_values(array_filter(
                is_array($body['errors'] ?? null) ? $body['errors'] : [],
                fn ($fault) => is_array($fault) && isset($fault['pointer'], $fault['detail']),
            )),
            $headers['x-request-id'] ?? null,
            is_numeric($wait) ? (float) $wait : null,
            $body,
        );
    }
}
