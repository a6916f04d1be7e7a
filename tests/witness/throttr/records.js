'use strict';

// Counters and buffers, and when they end.
// A heap has each record's end; entries whose record ends at another time by now are skipped. What has ended is taken
// away before a request looks, so that no request sees it, and by a timer, so that an idle server keeps nothing.

const { Tally } = require('./tally');

const UNITS = [1n, 1000n, 1000000n, 1000000000n, 60n * 1000000000n, 3600n * 1000000000n];
const SECONDS = 4;
const LONGEST_SLEEP = 30000;

class Heap {
  constructor() {
    this.items = [];
  }

  top() {
    return this.items[0];
  }

  push(item) {
    const items = this.items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (items[parent].ends <= item.ends) break;
      items[at] = items[parent];
      at = parent;
    }
    items[at] = item;
  }

  pop() {
    const items = this.items;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0) this.sink(last);
    return first;
  }

  sink(item) {
    const items = this.items;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && items[child + 1].ends < items[child].ends) child += 1;
      if (items[child].ends >= item.ends) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = item;
  }
}

class Records {
  constructor(clock, n) {
    this.clock = clock;
    this.n = n;
    this.byKey = new Map();
    this.ends = new Heap();
    this.timer = null;
    this.wakes = null;
    this.buffers = 0;
    this.bufferBytes = 0;
  }

  get(key) {
    return this.byKey.get(key);
  }

  add(key, what) {
    const record = { key, reads: new Tally(this.clock), writes: new Tally(this.clock), ...what };
    this.byKey.set(key, record);
    this.count(record, 1);
    this.endAt(record, this.clock.now() + record.ttl * unitOf(record.unit));
    return record;
  }

  replace(record, what) {
    this.count(record, -1);
    Object.assign(record, what);
    this.count(record, 1);
    this.endAt(record, this.clock.now() + record.ttl * unitOf(record.unit));
  }

  remove(record) {
    this.byKey.delete(record.key);
    this.count(record, -1);
    record.ends = null;
  }

  count(record, sign) {
    if (record.value === undefined) return;
    this.buffers += sign;
    this.bufferBytes += sign * record.value.length;
  }

  endAt(record, instant) {
    record.ends = instant;
    this.ends.push({ ends: instant, record });
    if (this.ends.items.length > 2 * this.byKey.size + 1024) this.rebuild();
    this.arm();
  }

  rebuild() {
    const live = [...this.byKey.values()].map((record) => ({ ends: record.ends, record }));
    live.sort((one, other) => (one.ends < other.ends ? -1 : 1));
    this.ends.items = live;
  }

  // Take away what has ended.
  reap() {
    const now = this.clock.now();
    for (let first = this.ends.top(); first && first.ends <= now; first = this.ends.top()) {
      this.ends.pop();
      if (first.record.ends === first.ends) this.remove(first.record);
    }
  }

  arm() {
    const first = this.ends.top();
    if (this.timer && first && first.ends >= this.wakes) return;
    clearTimeout(this.timer);
    this.timer = null;
    if (!first) return;
    const wait = Number(first.ends - this.clock.now()) / 1e6;
    this.wakes = first.ends;
    this.timer = setTimeout(() => this.wake(), Math.min(Math.max(wait, 1), LONGEST_SLEEP));
  }

  wake() {
    this.timer = null;
    this.reap();
    this.arm();
  }

  // What is left of a record's time, in its unit.
  left(record, roundUp) {
    const unit = unitOf(record.unit);
    const rest = record.ends - this.clock.now();
    if (rest <= 0n) return 0n;
    return roundUp ? (rest + unit - 1n) / unit : rest / unit;
  }
}

function isUnit(code) {
  return code >= 1 && code <= UNITS.length;
}

function unitOf(code) {
  return UNITS[(isUnit(code) ? code : SECONDS) - 1];
}

module.exports = { Records, isUnit, unitOf };
