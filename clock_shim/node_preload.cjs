// Loaded into Node by --require, while recording with frozen random numbers and while replaying:
// Math.random and the random functions of crypto draw from streams of one recorded seed. They come
// from V8 and OpenSSL, which stir in more than the system's random numbers, so that the preloaded
// library alone does not reach them. Keys that are generated inside of OpenSSL stay what they are.
'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const {threadId} = require('node:worker_threads');

const readSeed = () => {
  try {
    return fs.readFileSync(path.join(__dirname, 'seed'));
  } catch {
    return null;  // Random numbers are not frozen.
  }
};

// A stream of its own for each process, worker and use: AES-256 in counter mode.
const openStream = (seed, use) => {
  const name = `${process.env.REENACT_SHIM_ORDINAL} ${threadId} ${use}`;
  const key = crypto.createHmac('sha256', seed).update(name).digest();
  const cipher = crypto.createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  const zeros = Buffer.alloc(4096);
  let ready = Buffer.alloc(0);
  return (size) => {
    if (size > zeros.length) return cipher.update(Buffer.alloc(size));
    if (ready.length < size) ready = Buffer.concat([ready, cipher.update(zeros)]);
    const bytes = ready.subarray(0, size);
    ready = ready.subarray(size);
    return bytes;
  };
};

const bytesOf = (view) =>
    ArrayBuffer.isView(view) ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength) :
                               new Uint8Array(view);

const freeze = (seed) => {
  const drawMath = openStream(seed, 'math');
  const draw = openStream(seed, 'crypto');
  const real = {...crypto};

  // 53 bits, as many as a double in [0, 1) can hold.
  Math.random = () => {
    const bytes = drawMath(8);
    return ((bytes.readUInt32LE(0) >>> 5) * 0x4000000 + (bytes.readUInt32LE(4) >>> 6)) / 2 ** 53;
  };

  const fill = (view) => {
    const target = bytesOf(view);
    target.set(draw(target.length));
    return view;
  };
  // What is wrong with the arguments is said by the function that stood here before.
  const isSize = (size) => Number.isInteger(size) && size >= 0 && size <= 0x7fffffff;

  crypto.randomBytes = (size, callback) => {
    if (!isSize(size)) return real.randomBytes(size, callback);
    const bytes = Buffer.from(draw(size));
    if (callback === undefined) return bytes;
    process.nextTick(callback, null, bytes);
  };
  crypto.pseudoRandomBytes = crypto.randomBytes;

  crypto.randomFillSync = (view, offset, size) => {
    real.randomFillSync(view, offset, size);
    const all = bytesOf(view);
    const unit = ArrayBuffer.isView(view) ? view.BYTES_PER_ELEMENT ?? 1 : 1;
    const begin = (offset ?? 0) * unit;
    fill(all.subarray(begin, size === undefined ? all.length : begin + size * unit));
    return view;
  };
  crypto.randomFill = (view, offset, size, callback) => {
    if (typeof offset === 'function') return crypto.randomFill(view, 0, undefined, offset);
    if (typeof size === 'function') return crypto.randomFill(view, offset, undefined, size);
    crypto.randomFillSync(view, offset, size);
    process.nextTick(callback, null, view);
  };

  crypto.randomInt = (low, high, callback) => {
    if (high === undefined || typeof high === 'function') {
      callback = high;
      high = low;
      low = 0;
    }
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || high <= low ||
        high - low >= 2 ** 48) {
      return real.randomInt(low, high, callback);
    }
    const range = high - low;
    const limit = 2 ** 48 - (2 ** 48 % range);  // Past it small results would be more likely.
    let word;
    do {
      word = draw(6).readUIntLE(0, 6);
    } while (word >= limit);
    if (callback === undefined) return low + word % range;
    process.nextTick(callback, undefined, low + word % range);
  };

  const randomUUID = () => {
    const bytes = Buffer.from(draw(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = bytes.toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)]
        .join('-');
  };
  crypto.randomUUID = randomUUID;

  const web = Object.getPrototypeOf(crypto.webcrypto);
  const realGetRandomValues = web.getRandomValues;
  web.getRandomValues = function getRandomValues(view) {
    realGetRandomValues.call(this, view);  // Refuses what it must.
    return fill(view);
  };
  web.randomUUID = randomUUID;

  require('node:module').syncBuiltinESMExports();  // import {randomUUID} from 'node:crypto'
};

const seed = readSeed();
if (seed !== null) freeze(seed);
