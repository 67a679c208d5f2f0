<?php

declare(strict_types=1);

namespace Parlance;

/** Converts values of PHP to the JSON and the parameters of requests. */
final class Values
{
    /** Members that are objects with names of the caller. PHP has the same empty array for an object and a list. */
    private const MAPS = ['attrs', 'components', 'fields', 'formats', 'locales', 'vars'];

    /** Returns the JSON of a body. Times are sent as ISO 8601 in UTC. */
    public static function json(array|object $body): string
    {
        return json_encode(
            self::converted($body, '', false),
            JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE,
        );
    }

    /**
     * Returns the query of an address, without parameters that are null.
     *
     * @param array<string, mixed> $query
     */
    public static function query(array $query): string
    {
        $values = array_map(
            fn ($value) => is_bool($value) ? ($value ? 'true' : 'false') : $value,
            (array) self::converted($query, '', true),
        );
        return http_build_query($values, '', '&', PHP_QUERY_RFC3986);
    }

    /** Converts a value at a place of the request. Inside a map an empty array is a list. */
    private static function converted(mixed $value, string $place, bool $isInMap): mixed
    {
        if ($value instanceof \DateTimeInterface) {
            return \DateTimeImmutable::createFromInterface($value)->setTimezone(new \DateTimeZone('UTC'))->format('Y-m-d\TH:i:s.v\Z');
        }
        if (is_float($value) && !is_finite($value)) {
            throw new \InvalidArgumentException("$place is $value, which JSON cannot represent: leave it out or use null");
        }
        if (is_string($value) && preg_match('//u', $value) !== 1) {
            throw new \InvalidArgumentException("$place is not UTF-8: convert it with mb_convert_encoding");
        }
        if ($value instanceof \stdClass) {
            return (object) self::members((array) $value, $place, $isInMap);
        }
        return is_array($value) ? self::members($value, $place, $isInMap) : $value;
    }

    /** @param array<mixed> $members */
    private static function members(array $members, string $place, bool $isInMap): array
    {
        foreach ($members as $name => $value) {
            $isMap = !$isInMap && in_array($name, self::MAPS, true);
            $members[$name] = $isMap && $value === []
                ? (object) []
                : self::converted($value, $place === '' ? (string) $name : "$place.$name", $isInMap || $isMap);
        }
        return $members;
    }
}
