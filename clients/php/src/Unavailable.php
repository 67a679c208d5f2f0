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

    /**
     * Returns the failure of an attempt that PHP describes by warnings. A $timeout, in seconds, has passed.
     *
     * @param list<string> $warnings
     */
    public static function of(array $warnings, ?float $timeout): self
    {
        $text = str_replace("\n", ' ', implode('. ', $warnings));
        return match (true) {
            str_contains($text, 'refused') => new self('refused', 'the connection was refused. Check the address, and that the service runs'),
            str_contains($text, 'getaddrinfo') => new self('dns', 'the name of the host was not found. Check the address'),
            (bool) preg_match('/wrong version number|http request|packet length too long/', $text) =>
                new self('tls', 'the service answers without TLS. If this is its port, its address begins with http://'),
            str_contains($text, 'SSL'), str_contains($text, 'certificate') =>
                new self('tls', "the certificate was not accepted ($text). Behind a TLS proxy, set openssl.cafile of php.ini to its certificate"),
            $timeout !== null, str_contains($text, 'timed out') => new self('timeout', "no answer came within $timeout s"),
            default => new self('network', $text === '' ? 'the connection was closed' : $text),
        };
    }
}
