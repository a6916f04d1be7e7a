'use strict';

// What is answered to each request.
// Where the protocol leaves a choice, this server takes another one than is usual, as far as that is sensible.

const { Channels } = require('./channels');
const { Grammar, TYPES } = require('./requests');
const { Records, isUnit, unitOf } = require('./records');
const { Clock, Tally } = require('./tally');
const { bytes, most } = require('./numbers');
const pages = require('./pages');

const NO = Buffer.from([0]);
const YES = Buffer.from([1]);
const QUOTA = 0;
const TTL = 1;
const PATCH = 0;
const INCREASE = 1;
const DECREASE = 2;

class Server {
  constructor(options) {
    this.options = options;
    this.newer = options.profile === '7.3.2';
    this.n = options.n;
    this.clock = new Clock();
    this.grammar = new Grammar(options.profile, options.n);
    this.records = new Records(this.clock, options.n);
    this.channels = new Channels(this.clock);
    this.connections = new Map();
    this.requests = {};
    for (const name of Object.keys(TYPES)) this.requests[name] = new Tally(this.clock);
    this.all = new Tally(this.clock);
    this.startOfList = this.newer ? YES : Buffer.alloc(0);
  }

  admit(connection) {
    this.connections.set(connection.id.toString('hex'), connection);
    if (!this.newer) return;
    this.channels.subscribe(connection, '*');
    this.channels.subscribe(connection, connection.id.toString('hex'));
  }

  forget(connection) {
    this.channels.leave(connection);
    this.connections.delete(connection.id.toString('hex'));
  }

  // Newest first.
  listed() {
    return [...this.connections.values()].reverse();
  }

  answer(connection, bytesOfRequest) {
    this.records.reap();
    const request = this.grammar.parse(bytesOfRequest);
    connection.requests[request.type] = (connection.requests[request.type] || 0) + 1;
    return this.act(connection, request);
  }

  act(connection, request) {
    this.all.add();
    this.requests[request.type].add();
    return this[request.type](connection, request);
  }

  read(record) {
    record.reads.add();
  }

  INSERT(_, { quota, unit, ttl, key }) {
    if (this.records.get(key) || (this.newer && !isUnit(unit))) return NO;
    this.records.add(key, { quota, unit, ttl }).writes.add();
    return YES;
  }

  SET(_, { unit, ttl, key, value }) {
    if (this.newer && !isUnit(unit)) return NO;
    const record = this.records.get(key);
    if (!record) {
      this.records.add(key, { value, unit, ttl }).writes.add();
      return YES;
    }
    if (record.value === undefined) return NO;
    this.records.replace(record, { value, unit, ttl });
    record.writes.add();
    return YES;
  }

  QUERY(_, { key }) {
    const record = this.records.get(key);
    if (!record || record.value !== undefined) return NO;
    this.read(record);
    return Buffer.concat([YES, bytes(record.quota, this.n), this.timeOf(record)]);
  }

  GET(_, { key }) {
    const record = this.records.get(key);
    if (!record || record.value === undefined) return NO;
    this.read(record);
    return Buffer.concat([YES, this.timeOf(record), bytes(record.value.length, this.n), record.value]);
  }

  timeOf(record) {
    return Buffer.concat([Buffer.from([record.unit]), bytes(this.records.left(record, !this.newer), this.n)]);
  }

  UPDATE(_, { attribute, change, value, key }) {
    const record = this.records.get(key);
    if (!record) return NO;
    if (this.newer) this.read(record);
    if (attribute !== QUOTA && attribute !== TTL) return NO;
    if (attribute === QUOTA && record.value !== undefined) return NO;
    const done = attribute === TTL ? this.moveEnd(record, change, value) : this.changeQuota(record, change, value);
    if (done) record.writes.add();
    return done ? YES : NO;
  }

  changeQuota(record, change, value) {
    let quota = record.quota;
    if (change === PATCH) quota = value;
    if (change === INCREASE) quota += value;
    if (change === DECREASE) quota -= value;
    if (quota < 0n) return false;
    if (quota > most(this.n)) {
      if (this.newer) return false;
      quota = most(this.n);
    }
    record.quota = quota;
    return true;
  }

  moveEnd(record, change, value) {
    const span = value * unitOf(record.unit);
    if (change === PATCH) this.records.endAt(record, this.clock.now() + span);
    if (change === INCREASE) this.records.endAt(record, record.ends + span);
    if (change === DECREASE) this.records.endAt(record, record.ends - span);
    return true;
  }

  PURGE(_, { key }) {
    const record = this.records.get(key);
    if (!record) return NO;
    this.records.remove(record);
    return YES;
  }

  STAT(_, { key }) {
    const record = this.records.get(key);
    if (!record) return NO;
    const answer = Buffer.concat([YES, pages.metrics(record)]);
    if (this.newer) this.read(record);
    return answer;
  }

  LIST() {
    return this.pageOfRecords((record) => pages.recordRow(record, this.n, this.newer));
  }

  STATS() {
    return this.pageOfRecords((record) => pages.statsRow(record));
  }

  pageOfRecords(row) {
    const records = [...this.records.byKey.values()];
    const answer = this.page(records.map(row), records.map((record) => record.key));
    if (this.newer) for (const record of records) this.read(record);
    return answer;
  }

  page(rows, names) {
    return Buffer.concat([this.startOfList, ...pages.fragments(rows, names, this.newer)]);
  }

  INFO() {
    return Buffer.concat([this.startOfList, pages.info(this)]);
  }

  SUBSCRIBE(connection, { name }) {
    const fresh = this.channels.subscribe(connection, name);
    return fresh || this.newer ? YES : NO;
  }

  UNSUBSCRIBE(connection, { name }) {
    const was = this.channels.unsubscribe(connection, name);
    return was || !this.newer ? YES : NO;
  }

  PUBLISH(connection, { name, payload }) {
    const size = bytes(payload.length, this.n);
    const channel = Buffer.from(name, 'latin1');
    const frame = this.newer
      ? Buffer.concat([Buffer.from([TYPES.EVENT, channel.length]), size, channel, payload])
      : Buffer.concat([Buffer.from([3]), size, payload]);
    return this.channels.publish(connection, name, payload, frame) > 0 ? YES : NO;
  }

  CONNECTIONS() {
    return this.page(this.listed().map((one) => pages.connectionRow(one, this.newer)), []);
  }

  CONNECTION(_, { id, index }) {
    const found = this.newer ? this.connections.get(id) : this.listed()[index];
    return found ? Buffer.concat([YES, pages.connectionRow(found, this.newer)]) : NO;
  }

  CHANNELS() {
    const channels = this.channels.list();
    const rows = channels.map((channel) => pages.channelRow(channel, this.newer));
    return this.page(rows, channels.map((channel) => channel.name));
  }

  CHANNEL(_, { name }) {
    const channel = this.channels.get(name);
    if (!channel) return this.newer ? NO : Buffer.concat([YES, bytes(0, 8)]);
    return Buffer.concat([YES, pages.subscribers(channel, this.newer)]);
  }

  WHOAMI(connection) {
    return Buffer.concat([this.startOfList, connection.id]);
  }

  // A request within a payload, which may be an EVENT itself: one byte each, then the answer of the innermost.
  EVENT(connection, { payload }) {
    const before = [];
    for (let inner = payload; ; ) {
      if (!this.grammar.isWhole(inner)) return Buffer.concat([...before, NO]);
      before.push(YES);
      const request = this.grammar.parse(inner);
      if (request.type !== 'EVENT') return Buffer.concat([...before, this.act(connection, request)]);
      this.all.add();
      this.requests.EVENT.add();
      inner = request.payload;
    }
  }
}

module.exports = { Server };
