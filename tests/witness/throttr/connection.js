'use strict';

// One client: bytes in, requests to the server, answers out in their order.
// A client that does not read its answers is not read from either, until it does; one that does not read what it is
// pushed is disconnected when too much waits for it.

const { randomBytes } = require('crypto');

const PAUSE_AT = 256 * 1024;
const LINGER = 2000;

class Connection {
  constructor(server, socket) {
    this.server = server;
    this.socket = socket;
    this.id = randomBytes(16);
    this.since = server.clock.now();
    this.port = socket.remotePort;
    this.address = socket.remoteAddress;
    this.channels = new Set();
    this.requests = {};
    this.published = 0;
    this.received = 0;
    this.afterwards = [];
    this.chunks = [];
    this.held = 0;
    this.need = 1;
    this.out = [];
    this.outBytes = 0;
    this.ended = false;
    this.closing = false;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('end', () => this.end());
    socket.on('error', () => {});
    socket.on('close', () => this.gone());
  }

  receive(chunk) {
    if (this.closing) return;
    this.chunks.push(chunk);
    this.held += chunk.length;
    this.work();
  }

  // Answer every whole request that is held.
  work() {
    if (this.closing || this.held < this.need) return;
    let buffer = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
    while (buffer.length > 0 && !this.closing && this.waiting() < PAUSE_AT) {
      const size = this.server.grammar.size(buffer);
      this.need = Math.max(size, 1);
      if (size === 0 || size > this.server.options.maxFrame) this.refuse(size === 0);
      if (this.closing || buffer.length < size) break;
      const request = buffer.subarray(0, size);
      buffer = buffer.subarray(size);
      this.need = 1;
      this.answer(request);
    }
    this.chunks = buffer.length > 0 ? [buffer] : [];
    this.held = buffer.length;
    if (this.waiting() >= PAUSE_AT) this.socket.pause();
  }

  answer(request) {
    this.send(this.server.answer(this, request));
    for (const frame of this.afterwards.splice(0)) this.push(frame);
  }

  // No framing can be trusted after an unknown type, nor after a size beyond all measure.
  refuse(unknown) {
    if (unknown && this.server.options.profile === '7.3.2') this.send(Buffer.from([0]));
    this.close();
  }

  waiting() {
    return this.outBytes + this.socket.writableLength;
  }

  send(bytes) {
    if (this.outBytes === 0) process.nextTick(() => this.flush());
    this.out.push(bytes);
    this.outBytes += bytes.length;
  }

  push(frame) {
    if (this.waiting() + frame.length > this.server.options.maxBehind) this.socket.destroy();
    else this.send(frame);
  }

  flush() {
    const bytes = Buffer.concat(this.out);
    this.out = [];
    this.outBytes = 0;
    if (!this.socket.destroyed && bytes.length > 0) this.socket.write(bytes, () => this.resume());
  }

  resume() {
    if (this.socket.destroyed || !this.socket.isPaused() || this.waiting() >= PAUSE_AT) return;
    this.socket.resume();
    this.work();
    if (this.ended && !this.socket.isPaused()) this.close();
  }

  end() {
    this.ended = true;
    if (!this.socket.isPaused()) this.close();
  }

  // Everything answered so far is sent, then the end; what the client still sends is read and dropped for a while.
  close() {
    if (this.closing) return;
    this.closing = true;
    this.server.forget(this);
    process.nextTick(() => {
      this.socket.end();
      if (this.ended) return;
      const timer = setTimeout(() => this.socket.destroy(), LINGER);
      this.socket.on('close', () => clearTimeout(timer));
    });
  }

  gone() {
    this.closing = true;
    this.chunks = [];
    this.server.forget(this);
  }
}

module.exports = { Connection };
