// Checks one codec function, Throttr's INSERT, with the byte-exact vectors: node check.mjs [FOLDER OF vector files]
// Nothing but the JSON is used, so the same few lines work in any language.
import { fileURLToPath } from "node:url";
import { vectors } from "./vectors.mjs";

const folder = process.argv[2] ?? fileURLToPath(new URL("../../throttr/derived", import.meta.url));

// The function under test: fields in, bytes out. width = size in bytes of the dynamic fields.
function encodeInsert({ quota, ttl_type, ttl, key }, width) {
  const name = Buffer.from(key, "hex"), frame = Buffer.alloc(3 + 2 * width + name.length);
  const put = (value, at) => {           // little-endian; integers above 2^53 - 1 come as decimal strings
    for (let rest = BigInt(value), i = 0; i < width; i++, rest >>= 8n) frame[at + i] = Number(rest & 0xffn);
  };
  frame[0] = 0x01;
  put(quota, 1);
  frame[1 + width] = ttl_type;
  put(ttl, 2 + width);
  frame[2 + 2 * width] = name.length;
  name.copy(frame, 3 + 2 * width);
  return frame.toString("hex");
}

let checked = 0, wrong = 0;
for (const { profile, variant, sizes, frames } of vectors(folder)) {
  for (const { id, result, direction, message, hex } of frames) {
    if (result !== "valid" || direction !== "request" || message.name !== "INSERT") continue;
    checked++;
    const got = encodeInsert(message.fields, sizes.value);
    if (got !== hex) { wrong++; console.error(`${id} ${profile} ${variant}: expected ${hex}, got ${got}`); }
  }
}
console.log(`${checked} vectors checked, ${wrong} wrong`);
process.exit(checked > 0 && wrong === 0 ? 0 : 1);
