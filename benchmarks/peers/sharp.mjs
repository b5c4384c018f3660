// sharp as a peer: one JSON request a line on stdin, one JSON answer a line on stdout. Times are taken here, so that neither the
// start of Node nor the pipe counts. The source is read before the clock starts.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const sharp = createRequire(`${process.argv[2] ?? process.cwd()}/`)("sharp");
sharp.concurrency(1);
sharp.cache(false); // the same source comes again and again: what counts is the work

const answer = (record) => process.stdout.write(`${JSON.stringify(record)}\n`);
answer({ version: sharp.versions.sharp, libvips: sharp.versions.vips });

for await (const line of createInterface({ input: process.stdin })) {
  const { path, out, task } = JSON.parse(line);
  try {
    const source = readFileSync(path);
    const cpuBefore = process.cpuUsage();
    const began = process.hrtime.bigint();
    const result = await ladder(source, task);
    const wall = Number(process.hrtime.bigint() - began) / 1e6;
    const cpu = process.cpuUsage(cpuBefore);
    if (out) writeFileSync(out, result.data);
    const { width, height, quality } = result;
    answer({ wall, cpu: (cpu.user + cpu.system) / 1e3, width, height, quality, bytes: result.data.length });
  } catch (error) {
    answer({ error: String(error.message ?? error) });
  }
}

// Upright, inside the ceiling, on white, sRGB (sharp's default output); then JPEG qualities before each halving. The pixels are kept
// between two encodes, as nobody would decode the source again for a lower quality.
async function ladder(source, { ceiling, budget, qualities, halvings, floor }) {
  let { data, info } = await sharp(source)
    .rotate()
    .resize({ width: ceiling, height: ceiling, fit: "inside", withoutEnlargement: true })
    .flatten({ background: "#ffffff" })
    .raw()
    .toBuffer({ resolveWithObject: true });
  let last;
  for (let halving = 0; halving <= halvings; halving++) {
    const raw = { width: info.width, height: info.height, channels: info.channels };
    for (const quality of qualities) {
      const encoded = await sharp(data, { raw }).jpeg({ quality }).toBuffer();
      last = { data: encoded, width: info.width, height: info.height, quality };
      if (`data:image/jpeg;base64,${encoded.toString("base64")}`.length <= budget) return last;
    }
    const width = Math.floor(info.width / 2);
    const height = Math.floor(info.height / 2);
    if (Math.min(width, height) < floor) break;
    ({ data, info } = await sharp(data, { raw })
      .resize({ width, height, fit: "fill" })
      .raw()
      .toBuffer({ resolveWithObject: true }));
  }
  return last;
}
