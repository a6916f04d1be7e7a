// A driver for wireproof in Node.js (wireproof.driver/1, docs/writing-a-driver.md): wireproof driver check 'node driver.mjs'
// Put your SDK where FILL IN says so; it now drives the tiny SDK in throttr.mjs.
import { createInterface } from "node:readline";
import { Client, PROFILES, WIDTHS, OPERATIONS as SDK_OPERATIONS } from "./throttr.mjs"; // FILL IN: your SDK

const HELLO = { // FILL IN: name, version and abilities of your SDK
  protocol_version: "wireproof.driver/1",
  sdk: { name: "tiny Throttr SDK", version: "1.0", language: "JavaScript" },
  protocol: "throttr",
  profiles: PROFILES,
  variants: Object.keys(WIDTHS),
  operations: [...SDK_OPERATIONS, "batch"],
  binary_safe: true,
  largest_number: String(2n ** 64n - 1n),
};

const WORDS = { // numbers that have names
  ttl_type: { nanoseconds: 1, microseconds: 2, milliseconds: 3, seconds: 4, minutes: 5, hours: 6 },
  attribute: { quota: 0, ttl: 1 },
  change: { patch: 0, increase: 1, decrease: 2 },
  key_type: { counter: 0, buffer: 1 },
};
const data = (value) => ("hex" in value ? Buffer.from(value.hex, "hex") : Buffer.from(value.text));
const number = (digits) => BigInt(digits);
const word = (name, value) => BigInt(WORDS[name][value] ?? value);

const clients = new Map();

async function connect(c) { // FILL IN: connect, and report pushes and losses
  await clients.get(c.connection)?.close();
  const client = await Client.connect({ host: c.host, port: c.port, profile: c.profile, variant: c.variant });
  client.on("message", (pushed) => say({ event: "message", connection: c.connection, ...plain(pushed) }));
  client.on("closed", (why) => say({ event: "closed", connection: c.connection, told: why.message }));
  clients.set(c.connection, client);
  return {};
}

// FILL IN: the arguments of each operation. Delete what your SDK lacks, here and in HELLO.
const FIELDS = {
  insert: (c) => ({ quota: number(c.quota), ttl_type: word("ttl_type", c.ttl_type), ttl: number(c.ttl), key: data(c.key) }),
  query: (c) => ({ key: data(c.key) }),
  update: (c) => ({ attribute: word("attribute", c.attribute), change: word("change", c.change), value: number(c.value), key: data(c.key) }),
  purge: (c) => ({ key: data(c.key) }),
  set: (c) => ({ ttl_type: word("ttl_type", c.ttl_type), ttl: number(c.ttl), key: data(c.key), value: data(c.value) }),
  get: (c) => ({ key: data(c.key) }),
  list: () => ({}),
  info: () => ({}),
  stat: (c) => ({ key: data(c.key) }),
  stats: () => ({}),
  subscribe: (c) => ({ channel: data(c.channel) }),
  unsubscribe: (c) => ({ channel: data(c.channel) }),
  publish: (c) => ({ channel: data(c.channel), payload: data(c.payload) }),
  connections: () => ({}),
  connection: (c) => (c.id_ ? { id: data(c.id_) } : { index: number(c.index) }), // 7.3.2, 7.1.0
  channels: () => ({}),
  channel: (c) => ({ channel: data(c.channel) }),
  whoami: () => ({}),
  event: (c) => ({ channel: data(c.channel), payload: data(c.payload) }), // 7.3.2
};

async function batch(c) { // FILL IN, or delete
  const replies = await client(c).batch(c.requests.map((one) => [one.do, fieldsOf(one)]));
  return { results: replies.map(result) };
}

async function close(c) {
  const closing = client(c);
  clients.delete(c.connection);
  await closing.close();
  return {};
}

async function quit() {
  setTimeout(() => process.exit(0), 500).unref(); // an SDK's own sockets and timers may keep the process
  await Promise.all([...clients.values()].map((one) => one.close()));
  lines.close();
  return {};
}

const COMMANDS = { hello: async () => HELLO, connect, batch, close, quit };

function fieldsOf(c) {
  if (!Object.hasOwn(FIELDS, c.do)) throw Object.assign(new Error(`no operation ${c.do}`), { kind: "unsupported" });
  return FIELDS[c.do](c);
}

function client(c) {
  const found = clients.get(c.connection);
  if (!found) throw Object.assign(new Error(`there is no connection ${c.connection}`), { kind: "closed" });
  return found;
}

async function operation(c) {
  const fields = fieldsOf(c);
  return result(await client(c)[c.do](fields)); // FILL IN: where your SDK's methods have other names
}

const result = (reply) => (typeof reply === "boolean" ? { status: reply } : plain(reply));

// Numbers become digits or words, bytes hex.
function plain(value, name) {
  if (typeof value === "bigint") return Object.entries(WORDS[name] ?? {}).find(([, one]) => BigInt(one) === value)?.[0] ?? String(value);
  if (Buffer.isBuffer(value)) return { hex: value.toString("hex") };
  if (typeof value === "boolean") return { status: value };
  if (Array.isArray(value)) return value.map((one) => plain(one));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one, key)]));
}

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function answer(c) {
  try {
    const does = Object.hasOwn(COMMANDS, c.do) ? COMMANDS[c.do] : operation;
    say({ id: c.id, ok: true, result: await does(c) });
  } catch (error) { // FILL IN: the kinds of your SDK's errors
    say({ id: c.id, ok: false, error: { kind: error.kind ?? "other", told: String(error.message ?? error) } });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => answer(JSON.parse(line))); // not awaited: the next command may come before this one is done
lines.on("close", () => clients.forEach((one) => one.close()));
