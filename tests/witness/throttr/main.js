'use strict';

// A second server of Throttr, written from the document and the facts alone: plain Node, no packages.
//
//   node main.js --profile 7.1.0 --width uint16 --host 127.0.0.1 --port 9000

const net = require('net');
const { parseArgs } = require('util');
const { Connection } = require('./connection');
const { Server } = require('./server');
const { WIDTHS } = require('./numbers');

const { values } = parseArgs({
  options: {
    profile: { type: 'string', default: '7.1.0' },
    width: { type: 'string', default: 'uint16' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '9000' },
    'max-frame': { type: 'string', default: String(16 * 1024 * 1024) },
    'max-behind': { type: 'string', default: String(4 * 1024 * 1024) },
  },
});

const server = new Server({
  profile: values.profile,
  n: WIDTHS[values.width],
  maxFrame: Number(values['max-frame']),
  maxBehind: Number(values['max-behind']),
});

const listener = net.createServer({ allowHalfOpen: true }, (socket) => {
  if (socket.remoteAddress === undefined) socket.destroy();
  else server.admit(new Connection(server, socket));
});
listener.listen({ host: values.host, port: Number(values.port) }, () => {
  const { address, port } = listener.address();
  console.log(`listening tcp://${address}:${port}`);
});
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));
