'use strict';

// Little endian numbers of 1, 2, 4 or 8 bytes.
// Quotas, TTLs and instants are BigInt throughout: a Number is exact up to 2^53 only, and uint64 has values beyond.

const WIDTHS = { uint8: 1, uint16: 2, uint32: 4, uint64: 8 };

function read(buffer, offset, size) {
  return size === 8 ? buffer.readBigUInt64LE(offset) : BigInt(buffer.readUIntLE(offset, size));
}

function most(size) {
  return (1n << BigInt(8 * size)) - 1n;
}

// The bytes of a number; what does not fit is cut off, as unsigned numbers are.
function bytes(value, size) {
  const out = Buffer.alloc(size);
  const fitting = BigInt(value) & most(size);
  if (size === 8) out.writeBigUInt64LE(fitting);
  else out.writeUIntLE(Number(fitting), 0, size);
  return out;
}

// Text in a field of a fixed size, filled up with zeros.
function padded(text, size) {
  const out = Buffer.alloc(size);
  Buffer.from(text).copy(out, 0, 0, size);
  return out;
}

module.exports = { WIDTHS, read, most, bytes, padded };
