'use strict';

// Long answers: rows, fragments, and the table of INFO.

const { isIPv6 } = require('net');
const { bytes, most, padded } = require('./numbers');

const ROWS = 16;
const INFO_ORDER = [
  'INSERT', 'QUERY', 'UPDATE', 'PURGE', 'GET', 'SET', 'LIST', 'INFO', 'STATS', 'STAT', 'SUBSCRIBE', 'UNSUBSCRIBE',
  'PUBLISH', 'CHANNEL', 'CHANNELS', 'WHOAMI', 'CONNECTION', 'CONNECTIONS',
];
const ROW_ORDER = [
  'INSERT', 'SET', 'QUERY', 'GET', 'UPDATE', 'PURGE', 'LIST', 'INFO', 'STAT', 'STATS', 'PUBLISH', 'SUBSCRIBE',
  'UNSUBSCRIBE', 'CONNECTIONS', 'CONNECTION', 'CHANNELS', 'CHANNEL', 'WHOAMI',
];
const VERSION = 'witness';
const SECOND = 1000000000n;

function longs(values) {
  return Buffer.concat(values.map((value) => bytes(value, 8)));
}

// The newer profile: all rows in one fragment, counted from 1, or none. The older: 16 rows each, counted from 0, and
// an empty one where there is nothing.
function fragments(rows, names, newer) {
  const perFragment = newer ? Math.max(rows.length, 1) : ROWS;
  const count = newer ? Math.min(rows.length, 1) : Math.max(Math.ceil(rows.length / ROWS), 1);
  const parts = [bytes(count, 8)];
  for (let at = 0; at < count; at += 1) {
    const from = at * perFragment;
    const some = rows.slice(from, from + perFragment);
    const last = names.slice(from, from + perFragment).map((name) => Buffer.from(name, 'latin1'));
    parts.push(longs([newer ? at + 1 : at, some.length]), ...some, ...last);
  }
  return parts;
}

function recordRow(record, n, newer) {
  const isBuffer = record.value !== undefined;
  const kind = newer ? Number(isBuffer) : 1 + Number(isBuffer);
  const ends = record.ends > most(8) ? most(8) : record.ends;
  const used = isBuffer ? record.value.length : n;
  return Buffer.concat([Buffer.from([record.key.length, kind, record.unit]), bytes(ends, 8), bytes(used, n)]);
}

function metrics(record) {
  const { reads, writes } = record;
  return longs([reads.perMinute(), writes.perMinute(), reads.total, writes.total]);
}

function statsRow(record) {
  return Buffer.concat([Buffer.from([record.key.length]), metrics(record)]);
}

function channelRow(channel, newer) {
  const counts = [bytes(channel.read, 8), bytes(newer ? 0 : channel.written, 8)];
  return Buffer.concat([Buffer.from([channel.name.length]), ...counts, bytes(channel.members.size, newer ? 8 : 4)]);
}

function subscribers(channel, newer) {
  const rows = [...channel.members].map(([connection, one]) => Buffer.concat([
    connection.id, longs([one.since, one.read, newer ? 0 : one.written]),
  ]));
  return Buffer.concat([bytes(rows.length, 8), ...rows]);
}

// IPv4 as four bytes in the older profile, else as text.
function address(text, newer) {
  const plain = text.replace(/^::ffff:/, '');
  if (newer || isIPv6(plain)) return padded(plain, 16);
  return padded(Buffer.from(plain.split('.').map(Number)), 16);
}

function connectionRow(connection, newer) {
  const text = connection.address;
  const { socket, published, received, requests } = connection;
  return Buffer.concat([
    connection.id,
    newer ? Buffer.from([0, 0]) : Buffer.alloc(0),
    Buffer.from([isIPv6(text.replace(/^::ffff:/, '')) ? 6 : 4]),
    address(text, newer),
    bytes(connection.port, 2),
    longs([connection.since, socket.bytesRead, socket.bytesWritten, published, received, 0, 0]),
    longs(ROW_ORDER.map((name) => requests[name] || 0)),
  ]);
}

function info(server) {
  const { clock, records, channels, connections, requests, all } = server;
  const keys = records.byKey.size;
  const counters = keys - records.buffers;
  let read = 0;
  let written = 0;
  for (const connection of connections.values()) {
    read += connection.socket.bytesRead;
    written += connection.socket.bytesWritten;
  }
  const types = INFO_ORDER.flatMap((name) => [requests[name].total, requests[name].perMinute()]);
  return Buffer.concat([
    longs([clock.now() / SECOND, all.total, all.perMinute(), ...types, read, 0, written, 0]),
    longs([keys, counters, records.buffers, counters * server.n, records.bufferBytes]),
    longs([channels.subscriptions, channels.byName.size, clock.started + clock.epoch, connections.size]),
    padded(VERSION, 16),
  ]);
}

module.exports = { fragments, recordRow, metrics, statsRow, channelRow, subscribers, connectionRow, info };
