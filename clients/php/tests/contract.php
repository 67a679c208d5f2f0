<?php

// Plays the contract suite against the imitated service at PARLANCE_CONTRACT: php clients/php/tests/contract.php

declare(strict_types=1);

use Parlance\Client;
use Parlance\Problem;
use Parlance\Unavailable;
use Parlance\Values;
use Parlance\Webhook;
use Parlance\WebhookError;

spl_autoload_register(function (string $class): void {
    require __DIR__ . '/../src/' . str_replace('Parlance\\', '', $class) . '.php';
});

$address = getenv('PARLANCE_CONTRACT');
if ($address === false) {
    fwrite(STDERR, "PARLANCE_CONTRACT is not set: see clients/contract/README.md\n");
    exit(2);
}

/** Whether every member of $part is in $whole. */
function contains(mixed $whole, mixed $part): bool
{
    if (!is_array($part)) {
        return $whole === $part || (is_numeric($whole) && is_numeric($part) && $whole == $part);
    }
    if (!is_array($whole) || (array_is_list($part) && count($part) !== count($whole))) {
        return false;
    }
    foreach ($part as $name => $value) {
        if (!array_key_exists($name, $whole) || !contains($whole[$name], $value)) {
            return false;
        }
    }
    return true;
}

/** Returns the arguments of a case in the order of the method: path, body, query, headers. */
function argumentsOf(object $case, \ReflectionMethod $method): array
{
    $values = (array) ($case->input->path ?? []) + (array) ($case->input->headers ?? []);
    $found = [];
    foreach ($method->getParameters() as $parameter) {
        $name = $parameter->getName();
        $found[] = match ($name) {
            'body' => $case->input->body,
            'query' => (array) ($case->input->query ?? []),
            'idempotencyKey' => $values['idempotency-key'] ?? null,
            default => $values[$name] ?? null,
        };
    }
    return $found;
}

/** Returns what a case ended with, in the form of its outcome. */
function play(object $case, string $address): array
{
    $client = new Client($address . '/' . rawurlencode(str_replace(' ', '-', $case->name)), 'acme', 'plk_EXAMPLE', 20.0);
    $name = $case->operation . (isset($case->outcome->rows) && method_exists($client, "{$case->operation}Rows") ? 'Rows' : '');
    $method = new \ReflectionMethod($client, $name);
    try {
        $result = $method->invokeArgs($client, argumentsOf($case, $method));
        if ($result instanceof \Generator) {
            return ['rows' => iterator_to_array($result, false)];
        }
        return isset($case->outcome->rows) ? ['rows' => array_values($result)[0]] : ['answer' => $result];
    } catch (Problem $problem) {
        return ['problem' => [
            'type' => $problem->type,
            'status' => $problem->status,
            'pointers' => array_column($problem->errors, 'pointer'),
        ] + ($problem->requestId === null ? [] : ['request_id' => $problem->requestId])];
    } catch (Unavailable $failure) {
        return ['unavailable' => $failure->reason];
    }
}

/** Returns what the verification of a webhook request ended with, in the form of its outcome. */
function verified(object $case): array
{
    try {
        return ['event' => Webhook::verify($case->secrets, (array) $case->headers, $case->body, $case->now)];
    } catch (WebhookError $error) {
        return ['reason' => $error->fault];
    }
}

/** Values of PHP, and the JSON that a request has for them, or the fault that the client names. */
$values = [
    'an empty map' => [['fields' => [], 'requests' => []], '{"fields":{},"requests":[]}'],
    'an empty map of a variant' => [['variants' => [['vars' => ['body' => ''], 'components' => []]]], '{"variants":[{"vars":{"body":""},"components":{}}]}'],
    'an empty list in a map' => [['attrs' => ['fields' => [], 'tags' => []]], '{"attrs":{"fields":[],"tags":[]}}'],
    'a time' => [['fields' => ['at' => new DateTimeImmutable('2026-05-04 09:30:00 Europe/Berlin')]], '{"fields":{"at":"2026-05-04T07:30:00.000Z"}}'],
    'a time in an object' => [(object) ['at' => new DateTime('2026-05-04T09:30:00Z')], '{"at":"2026-05-04T09:30:00.000Z"}'],
    'a number that is none' => [['events' => [['value' => NAN]]], 'events.0.value is NAN, which JSON cannot represent: leave it out or use null'],
    'a text in another encoding' => [['fields' => ['name' => "Ren\xe9"]], 'fields.name is not UTF-8: convert it with mb_convert_encoding'],
];

$faults = [];
foreach ($values as $name => [$value, $expected]) {
    try {
        $found = Values::json($value);
    } catch (InvalidArgumentException $error) {
        $found = $error->getMessage();
    }
    if ($found !== $expected) {
        $faults[] = "$name: expected $expected, got $found";
    }
}
$query = Values::query(['archived' => false, 'since' => new DateTime('2026-05-04T09:30:00Z'), 'cursor' => null]);
if ($query !== 'archived=false&since=2026-05-04T09%3A30%3A00.000Z') {
    $faults[] = "a query: got $query";
}
foreach (["plk_EXAMPLE\n", "plk_EXAMPLE\r\nX-Other: 1"] as $key) {
    try {
        new Client('http://127.0.0.1', 'acme', $key);
        $faults[] = 'a key with a line break: expected a fault';
    } catch (InvalidArgumentException) {
    }
}
try {
    (new Client(str_replace('http://', 'https://', $address), 'acme', 'plk_EXAMPLE'))->listKeys();
} catch (Unavailable $failure) {
    if ($failure->reason !== 'tls' || !str_contains($failure->getMessage(), 'begins with http://')) {
        $faults[] = "a service without TLS: got {$failure->reason}, {$failure->getMessage()}";
    }
}
foreach (json_decode(file_get_contents(__DIR__ . '/../../contract/webhooks.json')) as $case) {
    $expected = json_decode(json_encode($case->outcome), true);
    $found = verified($case);
    if ($found !== $expected) {
        $faults[] = "{$case->name}: expected " . json_encode($expected) . ', got ' . json_encode($found);
    }
}
foreach (json_decode(file_get_contents("$address/cases")) as $case) {
    $expected = json_decode(json_encode($case->outcome), true);
    $found = play($case, $address);
    if (!contains($found, $expected)) {
        $faults[] = "{$case->name}: expected " . json_encode($expected) . ', got ' . json_encode($found);
    }
}
$faults = [...$faults, ...json_decode(file_get_contents("$address/report"))->faults];
echo implode("\n", $faults), $faults === [] ? "" : "\n";
exit($faults === [] ? 0 : 1);
