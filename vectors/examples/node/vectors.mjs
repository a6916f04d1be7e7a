// Reads vector files (wireproof.vectors/2): yields what each topic says of one profile and variant, written out.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const defaults = { frames: { flags: [] }, conversations: { exclusive: false }, steps: { connection: "a" } };

function* rows(list, letter, kind) {
  for (const { in: where = letter, times = 1, ...row } of list) {
    if (!where.includes(letter)) continue;
    const one = { ...defaults[kind], ...row };
    if (typeof one.hex === "object") one.hex = Object.entries(one.hex).find(([letters]) => letters.includes(letter))[1];
    if (one.steps) one.steps = [...rows(one.steps, letter, "steps")];
    for (let i = 0; i < times; i++) yield one;
  }
}

export function* vectors(folder) {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    const { configurations, frames, conversations, ...head } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    for (const [letter, { profile, variant, sizes }] of Object.entries(configurations)) {
      yield {
        ...head, profile, variant, sizes,
        frames: [...rows(frames, letter, "frames")],
        conversations: [...rows(conversations, letter, "conversations")],
      };
    }
  }
}
