<?php

declare(strict_types=1);

namespace Parlance;

/** Sends requests with the streams of PHP, which need no extension, and retries them. */
final class Transport
{
    public const VERSION = '0.2.0';

    private const LONGEST_PAUSE = 30.0;

    private readonly string $url;

    public function __construct(
        string $url,
        private readonly string $apiKey,
        private readonly float $timeout,
        private readonly int $retries,
    ) {
        if (!preg_match('#^https?://#', $url)) {
            throw new \InvalidArgumentException("The URL must be the address of the service, such as https://parlance.example.com, not $url");
        }
        if (!preg_match('/^[\x21-\x7e]+$/', $apiKey)) {
            throw new \InvalidArgumentException('The API key must be its text, without spaces or line breaks');
        }
        $this->url = rtrim($url, '/');
    }

    /**
     * Sends a request, and retries it after a pause if a retry may succeed. With $once, a retry could carry out the call
     * twice, so it is retried only if the service did not accept it.
     *
     * @param array<string, mixed> $query
     * @param array<mixed>|object|null $body
     * @param array<string, string|null> $headers
     */
    public function send(
        string $method,
        string $path,
        array $query = [],
        array|object|null $body = null,
        array $headers = [],
        bool $once = false,
        bool $isText = false,
    ): Answer {
        $search = http_build_query(array_filter($query, fn ($value) => $value !== null), '', '&', PHP_QUERY_RFC3986);
        $address = $this->url . $path . ($search === '' ? '' : "?$search");
        $content = $body === null ? null : json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
        for ($number = 1;; $number++) {
            $pause = min(self::LONGEST_PAUSE, 0.1 * 2 ** ($number - 1)) * (0.5 + lcg_value() / 2);
            try {
                return $this->attempt($method, $address, $content, $headers, $isText);
            } catch (Problem $problem) {
                $pause += $problem->retryAfter ?? 0.0;
                $passing = $once ? [429] : [408, 425, 429, 500, 502, 503, 504];
                if ($number > $this->retries || !in_array($problem->status, $passing, true) || $pause > self::LONGEST_PAUSE) {
                    throw $problem;
                }
            } catch (Unavailable $failure) {
                if ($number > $this->retries || ($once && !in_array($failure->reason, ['refused', 'dns'], true))) {
                    throw new Unavailable($failure->reason, "{$this->url} did not answer in $number attempts: {$failure->getMessage()}");
                }
            }
            usleep((int) ($pause * 1e6));
        }
    }

    /** @param array<string, string|null> $headers */
    private function attempt(string $method, string $address, ?string $content, array $headers, bool $isText): Answer
    {
        $lines = [
            "X-Api-Key: {$this->apiKey}",
            'User-Agent: parlance-php/' . self::VERSION . ' (PHP/' . PHP_VERSION . ')',
            'Connection: close',
        ];
        if ($content !== null) {
            $lines[] = 'Content-Type: application/json';
        }
        foreach ($headers as $name => $value) {
            if ($value !== null) {
                $lines[] = "$name: $value";
            }
        }
        $context = stream_context_create(['http' => [
            'method' => $method,
            'header' => $lines,
            'content' => $content ?? '',
            'timeout' => $this->timeout,
            'ignore_errors' => true,
            // The target of a redirect would receive the key.
            'follow_location' => 0,
            'protocol_version' => 1.1,
        ]]);
        error_clear_last();
        $text = @file_get_contents($address, false, $context);
        // PHP sets the variable in this scope.
        $received = $http_response_header ?? [];
        if ($text === false || $received === []) {
            $message = error_get_last()['message'] ?? 'the connection was closed';
            throw new Unavailable(Unavailable::reasonOf($message), $message);
        }
        return self::answerOf($received, $text, $isText);
    }

    /** @param list<string> $received the status line and the headers */
    private static function answerOf(array $received, string $text, bool $isText): Answer
    {
        $status = (int) (explode(' ', $received[0])[1] ?? 0);
        $found = [];
        foreach (array_slice($received, 1) as $line) {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $found[strtolower($name)] = trim($value);
        }
        $body = json_decode($text, true);
        if ($status < 200 || $status > 299) {
            throw Problem::of($status, is_array($body) ? $body : [], $found);
        }
        if (!$isText && !is_array($body)) {
            throw new Unavailable('answer', "The answer with status $status is not one of Parlance");
        }
        return new Answer($isText ? [] : $body, $found, $text);
    }

    /**
     * Yields the rows of all pages of an export. Returns the cursor of the next run.
     *
     * @param callable(array<string, mixed>): Answer $page
     * @param array<string, mixed> $query
     */
    public function rows(callable $page, array $query): \Generator
    {
        do {
            $answer = $page($query);
            foreach (explode("\n", $answer->text) as $line) {
                if ($line !== '') {
                    yield json_decode($line, true, 512, JSON_THROW_ON_ERROR);
                }
            }
            $query['cursor'] = $answer->headers['parlance-cursor'] ?? null;
        } while (($answer->headers['parlance-more'] ?? '') === 'true');
        return $query['cursor'];
    }
}
