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
        if (!preg_match('#^https?://#i', $url)) {
            throw new \InvalidArgumentException("The URL must be the address of the service, such as https://parlance.example.com, not $url");
        }
        if (!preg_match('/^[\x21-\x7e]+$/D', $apiKey)) {
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
        $search = Values::query($query);
        $address = $this->url . $path . ($search === '' ? '' : "?$search");
        $content = $body === null ? null : Values::json($body);
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
            // PHP would return the chunks that arrived as if the answer were complete.
            'auto_decode' => false,
        ]]);
        [$received, $text] = $this->exchange($address, $context);
        return self::answerOf($received, $text, $isText);
    }

    /**
     * Opens an address and reads the whole answer within the timeout.
     *
     * @param resource $context
     * @return array{list<string>, string} the status line with the headers, and the text
     */
    private function exchange(string $address, $context): array
    {
        $deadline = microtime(true) + $this->timeout;
        // PHP describes a failed connection in several warnings, such as one of TLS and one of the stream.
        $warnings = [];
        set_error_handler(function (int $_, string $message) use (&$warnings): bool {
            $warnings[] = $message;
            return true;
        });
        try {
            $stream = fopen($address, 'r', false, $context);
            if ($stream === false) {
                throw Unavailable::of($warnings, microtime(true) >= $deadline ? $this->timeout : null);
            }
            $received = stream_get_meta_data($stream)['wrapper_data'];
            $text = '';
            while (!feof($stream)) {
                $left = $deadline - microtime(true);
                if ($left <= 0) {
                    throw Unavailable::of($warnings, $this->timeout);
                }
                stream_set_timeout($stream, (int) $left, (int) (fmod($left, 1) * 1e6));
                $text .= fread($stream, 65536);
            }
            return [$received, Chunks::whole($received, $text)];
        } finally {
            restore_error_handler();
            if (is_resource($stream ?? null)) {
                fclose($stream);
            }
        }
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
