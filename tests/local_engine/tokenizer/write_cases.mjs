// Writes what other tokenizers make of many texts, for npm_cases to compare with.
//
// The right values are those of the original, Hugging Face's Rust library (through
// @anush008/tokenizers). Two ports to JavaScript, @huggingface/tokenizers and @lenml/tokenizers, are
// asked to encode the same; how often each agrees with the original is printed. Where they did not,
// each case was cut down to the characters that make the difference, and there were two causes, of
// JavaScript both:
//   - \s takes U+FEFF there, which has not been a space in Unicode since 3.2;
//   - classes and normalization are those of Node's version of Unicode (17 in Node 20.20), where the
//     original has 16 and, for normalization, 9: U+0897 and U+10EAB are marks that it cannot order.
// At most one text in fifty holds one of these.
//
// usage: write_cases.mjs --packages DIR --tokenizer FILE --texts FILE --count N --seed N --out FILE [--ports N]
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { ADD_SPECIAL, CaseFile, DECODE_ONLY, SKIP_SPECIAL } from './case_file.mjs';
import { Random, everyCharacter, makeSources, randomText } from './random_text.mjs';

const { values: options } = parseArgs({ options: Object.fromEntries(
  ['packages', 'tokenizer', 'texts', 'count', 'seed', 'out', 'ports'].map((name) => [name, { type: 'string' }])) });
const require = createRequire(path.join(path.resolve(options.packages), 'index.js'));
const { Tokenizer: Original } = require('@anush008/tokenizers');

const json = fs.readFileSync(options.tokenizer, 'utf8');
const definition = JSON.parse(json);
const original = Original.fromString(json);
const random = new Random(Number(options.seed));
const sources = makeSources(JSON.parse(fs.readFileSync(options.texts, 'utf8')), definition.added_tokens.map((token) => token.content));
const idEnd = Math.max(...definition.added_tokens.map((token) => token.id), ...Object.values(definition.model.vocab).slice(-1)) + 4;

const count = Number(options.count);
const cases = [];
for (const text of everyCharacter()) {
  if (cases.length >= count / 2) break;
  cases.push({ flags: 0, text });
}
while (cases.length < count) {
  const flags = (random.chance(30) ? ADD_SPECIAL : 0) | (random.chance(30) ? SKIP_SPECIAL : 0) | (random.chance(15) ? DECODE_ONLY : 0);
  cases.push({ flags, text: flags & DECODE_ONLY ? '' : randomText(random, sources) });
}

const BATCH = 512;
for (const addSpecial of [false, true]) {
  const encoded = cases.filter((c) => !(c.flags & DECODE_ONLY) && Boolean(c.flags & ADD_SPECIAL) === addSpecial);
  for (let at = 0; at < encoded.length; at += BATCH) {
    const batch = encoded.slice(at, at + BATCH);
    const results = await original.encodeBatch(batch.map((c) => c.text), { addSpecialTokens: addSpecial });
    results.forEach((result, i) => { batch[i].ids = result.getIds(); });
  }
}
// Ids that no text has: parts of characters, control tokens anywhere, ids beyond the vocabulary.
for (const c of cases) {
  if (c.flags & DECODE_ONLY) c.ids = Array.from({ length: 1 + random.below(24) }, () => random.chance(40) ? random.below(Math.min(idEnd, 300)) : random.below(idEnd));
}
for (const skip of [false, true]) {
  const decoded = cases.filter((c) => Boolean(c.flags & SKIP_SPECIAL) === skip);
  for (let at = 0; at < decoded.length; at += BATCH) {
    const batch = decoded.slice(at, at + BATCH);
    const results = await original.decodeBatch(batch.map((c) => c.ids), skip);
    results.forEach((text, i) => { batch[i].decoded = text; });
  }
}

const file = new CaseFile();
for (const c of cases) file.add(c.flags, c.text, c.ids, c.decoded);
file.save(options.out);

async function ports() {
  const config = { clean_up_tokenization_spaces: false };
  const list = [];
  const { Tokenizer } = require('@huggingface/tokenizers');
  list.push(['@huggingface/tokenizers', new Tokenizer(definition, config)]);
  const { TokenizerLoader } = require('@lenml/tokenizers');
  list.push(['@lenml/tokenizers', TokenizerLoader.fromPreTrained({ tokenizerJSON: JSON.parse(json), tokenizerConfig: { ...config, tokenizer_class: 'PreTrainedTokenizerFast' } })]);
  return list;
}

const same = (a, b) => a.length === b.length && a.every((id, i) => id === b[i]);
const portCount = Number(options.ports ?? 0);
const asked = portCount === 0 ? [] : cases.filter((c) => !(c.flags & DECODE_ONLY)).slice(-portCount);
if (asked.length > 0) {
  for (const [name, port] of await ports()) {
    let agreeing = 0;
    const examples = [];
    for (const c of asked) {
      const encoding = port.encode(c.text, { add_special_tokens: Boolean(c.flags & ADD_SPECIAL) });
      if (same(Array.from(encoding.ids ?? encoding), c.ids)) ++agreeing;
      else if (c.text.length < 60) examples.push(c.text);
    }
    console.log(JSON.stringify({ port: name, asked: asked.length, agreeing, examples: examples.slice(0, 12) }));
  }
}
