<?php

declare(strict_types=1);

namespace Parlance;

/**
 * Every attempt failed without an answer of the service. The reason is timeout, refused, dns, tls, network, or answer for
 * an answer that does not come from Parlance.
 */
final class Unavailable extends \RuntimeException
{
    public function __construct(public readonly string $reason, string $message)
    {
        parent::__construct($message);
    }

    /** Returns the reason for a failure that PHP describes. */
    public static function reasonOf(string $message): string
    {
        return match (true) {
            str_contains($message, 'refused') => 'refused',
            str_contains($message, 'getaddrinfo') => 'dns',
            str_contains($message, 'SSL'), str_contains($message, 'certificate') => 'tls',
            str_contains($message, 'timed out') => 'timeout',
            default => 'network',
        };
    }
}
