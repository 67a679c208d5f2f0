<?php

declare(strict_types=1);

namespace Parlance;

/** An answer of the service. */
final class Answer
{
    /**
     * @param array<string, mixed> $body the members of the JSON, empty for a text
     * @param array<string, string> $headers by name in lowercase
     */
    public function __construct(
        public readonly array $body,
        public readonly array $headers,
        public readonly string $text,
    ) {
    }
}
