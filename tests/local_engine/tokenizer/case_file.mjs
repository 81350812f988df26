// The file of cases that npm_cases.cc reads: little-endian numbers of 32 bits, strings with their size.
import fs from 'node:fs';

export const ADD_SPECIAL = 1;
export const SKIP_SPECIAL = 2;
export const DECODE_ONLY = 4;

export class CaseFile {
  #parts = [];

  number(value) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    this.#parts.push(bytes);
  }

  text(value) {
    const bytes = Buffer.from(value, 'utf8');
    this.number(bytes.length);
    this.#parts.push(bytes);
  }

  add(flags, text, ids, decoded) {
    this.number(flags);
    this.text(text);
    this.number(ids.length);
    this.#parts.push(Buffer.from(Uint32Array.from(ids).buffer));
    this.text(decoded);
  }

  save(file) { fs.writeFileSync(file, Buffer.concat(this.#parts)); }
}
