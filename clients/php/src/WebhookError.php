<?php

declare(strict_types=1);

namespace Parlance;

/**
 * Parlance did not sign a webhook request, or its body has no event. The fault is headers, timestamp, secret, signature or
 * body. Respond with a status from 400 to 499.
 */
final class WebhookError extends \RuntimeException
{
    public function __construct(public readonly string $fault, string $message)
    {
        parent::__construct($message);
    }
}
