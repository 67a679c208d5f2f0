<?php

declare(strict_types=1);

namespace Parlance;

/** Reads bodies of answers, and detects a body whose end did not arrive. */
final class Chunks
{
    /**
     * Returns the whole body of an answer, or throws Unavailable if a part of it is missing.
     *
     * @param list<string> $received the status line and the headers
     */
    public static function whole(array $received, string $text): string
    {
        $headers = implode("\n", $received);
        if (preg_match('/^transfer-encoding:\s*chunked\s*$/im', $headers)) {
            return self::decoded($text);
        }
        if (preg_match('/^content-length:\s*(\d+)\s*$/im', $headers, $found) && strlen($text) < (int) $found[1]) {
            throw self::cut();
        }
        return $text;
    }

    private static function decoded(string $text): string
    {
        $whole = '';
        for ($at = 0;; $at += $size + 2) {
            if (!preg_match('/\G([0-9a-f]+)[^\r\n]*\r\n/i', $text, $found, 0, $at)) {
                throw self::cut();
            }
            $size = (int) hexdec($found[1]);
            if ($size === 0) {
                return $whole;
            }
            $at += strlen($found[0]);
            if (strlen($text) < $at + $size + 2) {
                throw self::cut();
            }
            $whole .= substr($text, $at, $size);
        }
    }

    private static function cut(): Unavailable
    {
        return new Unavailable('network', 'the connection was closed before the end of the answer');
    }
}
