<?php
// A driver for wireproof in PHP (wireproof.driver/1, docs/writing-a-driver.md): wireproof driver check 'php driver.php'
// Needs php-cli 8.1 or newer. Put your SDK where FILL IN says so; replace the class Sdk at the end.
declare(strict_types=1);

const HELLO = [ // FILL IN: name, version and abilities of your SDK; `operations` are those of OPERATIONS below, and batch
    'protocol_version' => 'wireproof.driver/1',
    'sdk' => ['name' => 'stub', 'version' => '1.0', 'language' => 'PHP'],
    'protocol' => 'throttr',
    'profiles' => ['7.1.0', '7.3.2'],
    'variants' => ['uint8', 'uint16', 'uint32', 'uint64'],
    'operations' => ['insert', 'query', 'batch'],
    'binary_safe' => true,
    'largest_number' => '9223372036854775807', // PHP has no unsigned integers: do not claim more
];

const WORDS = [ // numbers that have names
    'ttl_type' => ['nanoseconds' => 1, 'microseconds' => 2, 'milliseconds' => 3, 'seconds' => 4, 'minutes' => 5, 'hours' => 6],
    'attribute' => ['quota' => 0, 'ttl' => 1],
    'change' => ['patch' => 0, 'increase' => 1, 'decrease' => 2],
    'key_type' => ['counter' => 0, 'buffer' => 1],
];

class Failure extends Exception
{
    public function __construct(public readonly string $kind, string $detail) { parent::__construct($detail); }
}

function data(array $value): string { return isset($value['hex']) ? hex2bin($value['hex']) : $value['text']; }
function word(string $name, string $value): int { return WORDS[$name][$value] ?? (int) $value; }
function named(string $name, int $value): string { return (string) (array_search($value, WORDS[$name], true) ?: $value); }
function hex(string $bytes): array { return ['hex' => bin2hex($bytes)]; }
function number(string $digits): int
{
    $value = filter_var($digits, FILTER_VALIDATE_INT);
    return $value === false ? throw new Failure('too_wide', "$digits is beyond PHP_INT_MAX") : $value;
}

// FILL IN: the request to your SDK and the result of its reply, by operation. The others, and their fields and
// results, are in docs/drivers/README.md.
function operations(): array
{
    return [
        'insert' => [
            fn (array $c) => [number($c['quota']), word('ttl_type', $c['ttl_type']), number($c['ttl']), data($c['key'])],
            fn (bool $done) => ['status' => $done],
        ],
        'query' => [
            fn (array $c) => [data($c['key'])],
            fn (?array $r) => $r === null ? ['status' => false]
                : ['quota' => (string) $r[0], 'ttl_type' => named('ttl_type', $r[1]), 'ttl' => (string) $r[2]],
        ],
    ];
}

$clients = [];

function connect(array $c): array // FILL IN: connect. When a message is pushed, call pushed()
{
    global $clients;
    $clients[$c['connection']] = new Sdk($c['host'], $c['port'], ['uint8' => 1, 'uint16' => 2, 'uint32' => 4, 'uint64' => 8][$c['variant']]);
    return [];
}

function batch(array $c): array // FILL IN: several requests at once; a single one uses the same code here
{
    $known = operations();
    $calls = [];
    foreach ($c['requests'] as $one) {
        isset($known[$one['do']]) || throw new Failure('unsupported', "no operation {$one['do']}");
        $calls[] = [$one['do'], $known[$one['do']][0]($one)];
    }
    $replies = client($c)->batch($calls);
    return ['results' => array_map(fn ($one, $reply) => $known[$one['do']][1]($reply), $c['requests'], $replies)];
}

function close(array $c): array
{
    global $clients;
    client($c)->close();
    unset($clients[$c['connection']]);
    return [];
}

function client(array $c): Sdk
{
    global $clients;
    return $clients[$c['connection'] ?? ''] ?? throw new Failure('closed', 'there is no such connection');
}

function pushed(string $connection, ?string $channel, string $payload): void
{
    say(['event' => 'message', 'connection' => $connection, 'channel' => $channel === null ? null : hex($channel), 'payload' => hex($payload)]);
}

function say(array $message): void { fwrite(STDOUT, json_encode($message, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR) . "\n"); }

function done(array $c): array
{
    return match ($c['do']) {
        'hello' => HELLO,
        'connect' => connect($c),
        'batch' => batch($c),
        'close' => close($c),
        'quit' => [],
        default => batch([...$c, 'requests' => [$c]])['results'][0],
    };
}

ini_set('display_errors', 'stderr'); // stdout is for the protocol only
while (($line = fgets(STDIN)) !== false) {
    $c = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    try {
        say(['id' => $c['id'], 'ok' => true, 'result' => done($c) ?: new stdClass()]);
    } catch (Throwable $error) { // FILL IN: the kinds of your SDK's errors
        $kind = $error instanceof Failure ? $error->kind : 'other';
        say(['id' => $c['id'], 'ok' => false, 'error' => ['kind' => $kind, 'told' => $error->getMessage()]]);
    }
    if ($c['do'] === 'quit') {
        exit(0);
    }
}

/** Stands in for your SDK: INSERT and QUERY, one request after the other. */
class Sdk
{
    private $socket;

    public function __construct(string $host, int $port, private int $width)
    {
        $this->socket = @stream_socket_client("tcp://$host:$port", $code, $detail, 3.0) ?: throw new Failure('closed', $detail);
        stream_set_timeout($this->socket, 3);
    }

    public function batch(array $calls): array
    {
        $frames = array_map(fn ($one) => $this->{$one[0]}(...$one[1]), $calls);
        @fwrite($this->socket, implode('', $frames)) === false && throw new Failure('closed', 'the connection was lost');
        return array_map(fn ($one) => $one[0] === 'insert' ? $this->ok() : ($this->ok() ? $this->counter() : null), $calls);
    }

    public function close(): void { fclose($this->socket); }

    private function insert(int $quota, int $type, int $ttl, string $key): string
    {
        return "\x01" . $this->wide($quota) . chr($type) . $this->wide($ttl) . $this->sized($key);
    }

    private function query(string $key): string { return "\x02" . $this->sized($key); }

    private function wide(int $value): string
    {
        if ($value < 0 || ($this->width < 8 && $value >> (8 * $this->width))) {
            throw new Failure('too_wide', "$value does not fit in {$this->width} bytes");
        }
        return substr(pack('P', $value), 0, $this->width);
    }

    private function sized(string $key): string
    {
        return strlen($key) > 255 ? throw new Failure('too_long', strlen($key) . ' bytes, at most 255 fit') : chr(strlen($key)) . $key;
    }

    private function counter(): array { return [$this->whole(), ord($this->read(1)), $this->whole()]; }
    private function ok(): bool
    {
        $status = ord($this->read(1));
        return $status > 1 ? throw new Failure('protocol', "expected status 0 or 1, got $status") : $status === 1;
    }

    private function whole(): int
    {
        $value = unpack('P', str_pad($this->read($this->width), 8, "\0"))[1];
        return $value < 0 ? throw new Failure('other', 'a number beyond PHP_INT_MAX came') : $value;
    }

    private function read(int $count): string
    {
        $data = '';
        while (strlen($data) < $count) {
            $more = fread($this->socket, $count - strlen($data));
            if ($more === '' || $more === false) {
                $late = stream_get_meta_data($this->socket)['timed_out'];
                throw new Failure($late ? 'timeout' : 'closed', $late ? 'no reply in 3 s' : 'the server closed the connection');
            }
            $data .= $more;
        }
        return $data;
    }
}
