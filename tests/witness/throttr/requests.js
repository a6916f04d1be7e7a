'use strict';

// Where a request ends, and what stands in it.

const { read } = require('./numbers');

const TYPES = {
  INSERT: 0x01, QUERY: 0x02, UPDATE: 0x03, PURGE: 0x04, SET: 0x05, GET: 0x06, LIST: 0x07, INFO: 0x08, STAT: 0x09,
  STATS: 0x10, SUBSCRIBE: 0x11, UNSUBSCRIBE: 0x12, PUBLISH: 0x13, CONNECTIONS: 0x14, CONNECTION: 0x15,
  CHANNELS: 0x16, CHANNEL: 0x17, WHOAMI: 0x18, EVENT: 0x19,
};
const BARE = ['LIST', 'INFO', 'STATS', 'CONNECTIONS', 'CHANNELS', 'WHOAMI'];
const NAMED = ['QUERY', 'PURGE', 'GET', 'STAT', 'SUBSCRIBE', 'UNSUBSCRIBE', 'CHANNEL'];

// A form says how long the part of a request is whose size does not vary, which sizes that part announces,
// and what the whole request says.
function forms(profile, n) {
  const valueSize = profile === '7.3.2' ? n : 1;
  const idSize = profile === '7.3.2' ? 16 : 4;
  const text = (buffer, from, size) => buffer.latin1Slice(from, from + size);
  const table = {
    INSERT: {
      head: 3 + 2 * n,
      rest: (b) => b[2 + 2 * n],
      fields: (b) => ({
        quota: read(b, 1, n), unit: b[1 + n], ttl: read(b, 2 + n, n), key: text(b, 3 + 2 * n, b[2 + 2 * n]),
      }),
    },
    UPDATE: {
      head: 4 + n,
      rest: (b) => b[3 + n],
      fields: (b) => ({ attribute: b[1], change: b[2], value: read(b, 3, n), key: text(b, 4 + n, b[3 + n]) }),
    },
    SET: {
      head: 3 + n + valueSize,
      rest: (b) => b[2 + n] + Number(read(b, 3 + n, valueSize)),
      fields: (b) => {
        const start = 3 + n + valueSize;
        const value = Buffer.from(b.subarray(start + b[2 + n]));
        return { unit: b[1], ttl: read(b, 2, n), key: text(b, start, b[2 + n]), value };
      },
    },
    PUBLISH: {
      head: 2 + n,
      rest: (b) => b[1] + Number(read(b, 2, n)),
      fields: (b) => ({ name: text(b, 2 + n, b[1]), payload: Buffer.from(b.subarray(2 + n + b[1])) }),
    },
    CONNECTION: {
      head: 1 + idSize,
      rest: () => 0,
      fields: (b) => (idSize === 16 ? { id: b.toString('hex', 1, 17) } : { index: b.readUInt32LE(1) }),
    },
  };
  for (const name of BARE) table[name] = { head: 1, rest: () => 0, fields: () => ({}) };
  for (const name of NAMED) {
    table[name] = { head: 2, rest: (b) => b[1], fields: (b) => ({ name: text(b, 2, b[1]), key: text(b, 2, b[1]) }) };
  }
  if (profile === '7.3.2') table.EVENT = table.PUBLISH;
  const byCode = new Map();
  for (const [name, form] of Object.entries(table)) byCode.set(TYPES[name], { name, ...form });
  return byCode;
}

class Grammar {
  constructor(profile, n) {
    this.forms = forms(profile, n);
  }

  // How many bytes the request that starts here has, as far as these bytes tell; 0 where no request starts so.
  size(buffer) {
    const form = this.forms.get(buffer[0]);
    if (!form) return 0;
    return buffer.length < form.head ? form.head : form.head + form.rest(buffer);
  }

  // The request in exactly these bytes.
  parse(buffer) {
    const form = this.forms.get(buffer[0]);
    return { type: form.name, ...form.fields(buffer) };
  }

  // Whether these bytes are one whole request.
  isWhole(buffer) {
    return buffer.length > 0 && this.size(buffer) === buffer.length && buffer.length >= this.forms.get(buffer[0]).head;
  }
}

module.exports = { Grammar, TYPES };
