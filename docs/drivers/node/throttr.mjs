// A tiny Throttr SDK, for driver.mjs: profiles 7.1.0 and 7.3.2, every width, numbers as BigInt, bytes as Buffer.
//   const client = await Client.connect({ host, port, profile: "7.3.2", variant: "uint16" });
//   await client.insert({ key: Buffer.from("k"), quota: 7n, ttl_type: 4n, ttl: 60n });   // true, or false when refused
//   await client.query({ key: Buffer.from("k") });                                       // { quota, ttl_type, ttl }, or false
import { EventEmitter } from "node:events";
import { createConnection } from "node:net";

export const PROFILES = ["7.1.0", "7.3.2"];
export const WIDTHS = { uint8: 1, uint16: 2, uint32: 4, uint64: 8 };

// A layout: name:size for numbers (N is the width, little-endian), name:16b for bytes of a fixed size, and a name alone
// for bytes whose count is in name_size; those stand after all fixed parts.
const each = (names, suffix) => names.split(" ").map((name) => name + suffix).join(" ");
const REQUESTS = ["insert", "query", "update", "purge", "set", "get", "list", "info", "stat", "stats", "subscribe",
  "unsubscribe", "publish", "connections", "connection", "channels", "channel", "whoami"];
const METRICS = ["insert", "query", "update", "purge", "get", "set", "list", "info", "stats", "stat", "subscribe",
  "unsubscribe", "publish", "channel", "channels", "whoami", "connection", "connections"];
const INFO = `timestamp:8 total_requests:8 requests_per_minute:8 ${METRICS.map((m) => `total_${m}:8 ${m}_per_minute:8`).join(" ")} `
  + "total_read_bytes:8 read_bytes_per_minute:8 total_write_bytes:8 write_bytes_per_minute:8 keys:8 counters:8 buffers:8 "
  + "allocated_bytes_on_counters:8 allocated_bytes_on_buffers:8 subscriptions:8 channels:8 running_since:8 connections:8 version:16b";
const ROW = "ip_version:1 ip:16b port:2 connected_at:8 read_bytes:8 write_bytes:8 published_bytes:8 received_bytes:8 "
  + "allocated_bytes:8 consumed_bytes:8 " + each("insert set query get update purge list info stat stats publish subscribe "
  + "unsubscribe connections connection channels channel whoami", "_requests:8");
const METERS = "reads_per_minute:8 writes_per_minute:8 total_reads:8 total_writes:8";

function layoutsOf(profile) {
  const late = profile === "7.3.2", row = late ? `id:16b type:1 kind:1 ${ROW}` : `id:16b ${ROW}`;
  const all = {
    insert: ["quota:N ttl_type:1 ttl:N key_size:1 key"],
    query: ["key_size:1 key", "quota:N ttl_type:1 ttl:N"],
    update: ["attribute:1 change:1 value:N key_size:1 key"],
    purge: ["key_size:1 key"],
    set: [`ttl_type:1 ttl:N key_size:1 value_size:${late ? "N" : 1} key value`],
    get: ["key_size:1 key", "ttl_type:1 ttl:N value_size:N value"],
    list: ["", "key_size:1 key_type:1 ttl_type:1 time_point:8 bytes_used:N key", "fragments", "bare"],
    info: ["", INFO, "one", "bare"],
    stat: ["key_size:1 key", METERS],
    stats: ["", `key_size:1 ${METERS} key`, "fragments", "bare"],
    subscribe: ["channel_size:1 channel"],
    unsubscribe: ["channel_size:1 channel"],
    publish: ["channel_size:1 payload_size:N channel payload"],
    connections: ["", row, "fragments", "bare"],
    connection: [late ? "id:16b" : "index:4", row],
    channels: ["", `channel_size:1 read_bytes:8 write_bytes:8 subscribed_connections:${late ? 8 : 4} channel`, "fragments", "bare"],
    channel: ["channel_size:1 channel", "connection_id:16b subscribed_at:8 read_bytes:8 write_bytes:8", "subscribers"],
    whoami: ["", "id:16b", "one", "bare"],
    ...(late && { event: ["channel_size:1 payload_size:N channel payload", "", "nested"] }),
  };
  const found = {};
  for (const [name, [request, reply, shape, bare]] of Object.entries(all)) {
    const at = REQUESTS.indexOf(name), type = name === "event" ? 0x19 : at < 9 ? at + 1 : at + 7;
    found[name] = { type, request, reply, shape: shape ?? (reply === undefined ? "flag" : "one"), bare: bare === "bare" && !late };
  }
  return found;
}

export const OPERATIONS = Object.keys(layoutsOf("7.3.2"));

export class SdkError extends Error {
  constructor(kind, told) { super(told); this.kind = kind; }
}

const SHORT = Symbol("more bytes are needed");

class Reader {
  constructor(data, width) { this.data = data; this.width = width; this.at = 0; }
  bytes(count) {
    if (this.at + count > this.data.length) throw SHORT;
    return this.data.subarray(this.at, this.at += count);
  }
  number(size) { return this.bytes(size).reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n); }
  rows(layout, count) {
    const rows = [];
    for (let i = 0n; i < count; i++) rows.push(this.fixed(layout));
    for (const row of rows) for (const name of layout.split(" ").filter((one) => one && !one.includes(":"))) {
      row[name] = Buffer.from(this.bytes(Number(row[`${name}_size`])));
      delete row[`${name}_size`];
    }
    return rows;
  }
  fixed(layout) {
    const row = {};
    for (const [name, size] of layout.split(" ").map((one) => one.split(":")).filter(([, size]) => size)) {
      if (size.endsWith("b")) row[name] = Buffer.from(this.bytes(parseInt(size)));
      else row[name] = this.number(size === "N" ? this.width : Number(size));
    }
    return row;
  }
}

function encoded(layout, fields, width) {
  const parts = [], bodies = [];
  for (const [name, size] of layout.split(" ").filter(Boolean).map((one) => one.split(":"))) {
    if (!size) { bodies.push(fields[name]); continue; }
    if (size.endsWith("b")) {
      if (fields[name].length !== parseInt(size)) throw new SdkError("refused", `${name}: expected ${parseInt(size)} bytes`);
      parts.push(fields[name]);
      continue;
    }
    const bytes = size === "N" ? width : Number(size), counts = name.endsWith("_size");
    const value = counts ? BigInt(fields[name.slice(0, -5)].length) : fields[name];
    if (value < 0n || value >= 1n << BigInt(8 * bytes))
      throw new SdkError(counts ? "too_long" : "too_wide", `${name} ${value} does not fit in ${bytes} bytes`);
    parts.push(Buffer.from(Array.from({ length: bytes }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn))));
  }
  return Buffer.concat([...parts, ...bodies]);
}

// Emits "message" ({ channel, payload }, channel null in 7.1.0) and "closed" (why) for an end that was not asked for.
export class Client extends EventEmitter {
  static connect({ host, port, profile = "7.3.2", variant = "uint16", timeout = 3000 }) {
    return new Promise((resolve, reject) => {
      const socket = createConnection({ host, port, noDelay: true });
      const timer = setTimeout(() => socket.destroy(new SdkError("timeout", "no connection in time")), timeout);
      socket.once("error", (error) => { clearTimeout(timer); reject(error.kind ? error : new SdkError("closed", error.message)); });
      socket.once("connect", () => { clearTimeout(timer); resolve(new Client(socket, profile, variant, timeout)); });
    });
  }

  constructor(socket, profile, variant, timeout) {
    super();
    this.layouts = layoutsOf(profile);
    this.width = WIDTHS[variant];
    this.late = profile === "7.3.2";
    this.socket = socket;
    this.timeout = timeout;
    this.waiting = [];
    this.held = Buffer.alloc(0);
    this.over = null;
    socket.on("data", (data) => this.#take(data));
    socket.on("error", (error) => this.#end(new SdkError("closed", error.message)));
    socket.on("end", () => this.#end(new SdkError("closed", "the server closed the connection")));
    socket.on("close", () => this.#end(new SdkError("closed", "the connection was lost")));
  }

  // Sends requests ([name, fields] each) in one write and gives their replies in order; refuses all when one does not fit.
  async batch(requests) {
    if (this.over) throw new SdkError("closed", this.over.message);
    const frames = requests.map(([name, fields]) => {
      const layout = this.layouts[name];
      if (!layout) throw new SdkError("unsupported", `there is no ${name} in this profile`);
      return Buffer.concat([Buffer.from([layout.type]), encoded(layout.request, fields, this.width)]);
    });
    const replies = requests.map(([name, fields]) => this.#awaited(name, fields));
    this.socket.write(Buffer.concat(frames));
    return Promise.all(replies);
  }

  async close() {
    this.over ??= new SdkError("closed", "the client was closed");
    this.#fail(this.over);
    if (!this.socket.destroyed) await new Promise((done) => { this.socket.once("close", done); this.socket.end(); this.socket.destroySoon(); });
  }

  #awaited(name, fields) {
    return new Promise((resolve, reject) => {
      const late = () => reject(new SdkError("timeout", `no reply to ${name} in ${this.timeout} ms`));
      this.waiting.push({ name, fields, resolve, reject, timer: setTimeout(late, this.timeout) });
    });
  }

  #take(data) {
    if (this.over) return;
    this.held = Buffer.concat([this.held, data]);
    try {
      while (this.held.length && !this.over) this.#next();
    } catch (error) {
      if (error === SHORT) return;
      this.#end(error);
      this.socket.destroy();
    }
  }

  // Reads one whole reply or push; a reply without status byte (7.1.0) may begin with any byte, so it goes first.
  #next() {
    const reader = new Reader(this.held, this.width), asked = this.waiting[0];
    const bare = asked && this.layouts[asked.name].bare;
    if (!bare && this.held[0] === (this.late ? 0x19 : 0x03)) {
      reader.bytes(1);
      const layout = this.late ? "channel_size:1 payload_size:N channel payload" : "payload_size:N payload";
      const [push] = reader.rows(layout, 1n);
      this.held = this.held.subarray(reader.at);
      this.emit("message", { channel: null, ...push });
      return;
    }
    if (!asked) throw new SdkError("protocol", `got ${this.held.toString("hex", 0, 8)} although no request waits`);
    const reply = this.#reply(reader, asked.name, asked.fields);
    this.held = this.held.subarray(reader.at);
    this.waiting.shift();
    clearTimeout(asked.timer);
    asked.resolve(reply);
  }

  #reply(reader, name, fields) {
    const { reply, shape, bare } = this.layouts[name];
    if (!bare) {
      const [status] = reader.bytes(1);
      if (status > 1) throw new SdkError("protocol", `${name}: expected 00 or 01, got ${status.toString(16).padStart(2, "0")}`);
      if (status === 0 || shape === "flag") return status === 1;
    }
    if (shape === "one") return reader.rows(reply, 1n)[0];
    if (shape === "subscribers") return { subscribers: reader.rows(reply, reader.number(8)) };
    if (shape === "nested") {
      const inner = Object.keys(this.layouts).find((one) => this.layouts[one].type === fields.payload[0]);
      return { reply: this.#reply(reader, inner, inner === "event" ? this.#inside(fields.payload) : {}) };
    }
    const rows = [], count = reader.number(8);
    for (let i = 1n; i <= count; i++) {
      if (reader.number(8) !== i) throw new SdkError("protocol", `${name}: fragment ${i} has another number`);
      for (const row of reader.rows(reply, reader.number(8))) rows.push(row);
    }
    return { rows };
  }

  #inside(payload) {
    const reader = new Reader(payload.subarray(1), this.width);
    return reader.rows("channel_size:1 payload_size:N channel payload", 1n)[0];
  }

  #end(why) {
    if (this.over) return;
    this.over = why;
    this.#fail(why);
    this.emit("closed", why);
  }

  #fail(why) {
    for (const one of this.waiting.splice(0)) { clearTimeout(one.timer); one.reject(why); }
  }
}

for (const name of OPERATIONS)
  Client.prototype[name] = function (fields = {}) { return this.batch([[name, fields]]).then(([reply]) => reply); };
