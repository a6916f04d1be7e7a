'use strict';

// Counts: all so far, and those of the last full minute since the server started.

const MINUTE = 60n * 1000n * 1000n * 1000n;

class Clock {
  constructor() {
    this.started = process.hrtime.bigint();
    this.epoch = BigInt(Date.now()) * 1000000n - this.started;
  }

  // Nanoseconds since 1970; steps of the system's clock after the start do not show.
  now() {
    return process.hrtime.bigint() + this.epoch;
  }

  minute() {
    return Number((process.hrtime.bigint() - this.started) / MINUTE);
  }
}

class Tally {
  constructor(clock) {
    this.clock = clock;
    this.total = 0;
    this.minute = clock.minute();
    this.current = 0;
    this.last = 0;
  }

  roll() {
    const minute = this.clock.minute();
    if (minute === this.minute) return;
    this.last = minute === this.minute + 1 ? this.current : 0;
    this.current = 0;
    this.minute = minute;
  }

  add(count = 1) {
    this.roll();
    this.total += count;
    this.current += count;
  }

  perMinute() {
    this.roll();
    return this.last;
  }
}

module.exports = { Clock, Tally };
