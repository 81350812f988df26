// Small tokenizers with stages drawn by chance, and what the original makes of texts with them: the
// corners of every stage and flag that the tokenizers of real models leave alone.
// usage: write_small_cases.mjs --packages DIR --count N --seed N --out FILE
import path from 'node:path';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { ADD_SPECIAL, CaseFile, SKIP_SPECIAL } from './case_file.mjs';
import { PATTERN_CHARACTERS, patternTokenizer } from './random_pattern.mjs';
import { Random } from './random_text.mjs';

const { values: options } = parseArgs({ options: Object.fromEntries(
  ['packages', 'count', 'seed', 'out'].map((name) => [name, { type: 'string' }])) });
const require = createRequire(path.join(path.resolve(options.packages), 'index.js'));
const { Tokenizer: Original } = require('@anush008/tokenizers');
const random = new Random(Number(options.seed));

const CHARACTERS = [...'aabbcAB12 _-.', ' ', '  ', '\n', '▁', 'Ġ', 'é', 'e\u0301', 'ﬁ', '日', '\u00a0', '½', '٣', '😀', '\u0323', 'ß', 'İ', '<x>', '[y]', ' z'];
const BEHAVIORS = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'];
const PATTERNS = [{ String: ' ' }, { String: 'a' }, { String: 'ab' }, { String: '.' }, { Regex: '\\s+' }, { Regex: '\\p{N}{1,3}' }, { Regex: '[ab]+' },
  { Regex: "(?i:'s|ab)|\\w+" }, { Regex: '[^\\s\\p{L}]' }, { Regex: 'a*' }, { Regex: '(?<=a)b' }, { Regex: '\\s+(?!\\S)|\\s+' }, { Regex: '^.|.$' },
  { Regex: '\\W' }, { Regex: '[^\\S\\n]+' }, { Regex: 'a{2}|b{1,}' }, { Regex: '\\d+?' }, { Regex: '(?>a+)b?' }, { Regex: '[\\x20-\\x{2f}é]' }];

function text(most, characters = CHARACTERS) {
  let result = '';
  for (let i = random.below(most + 1); i > 0; --i) result += random.pick(characters);
  return result;
}

function some(most, make) { return Array.from({ length: random.below(most + 1) }, make); }

function sequence(type, name, most, make) {
  const stages = some(most, make);
  if (stages.length === 0) return null;
  return stages.length === 1 ? stages[0] : { type, [name]: stages };
}

function normalizer() {
  switch (random.below(6)) {
    case 0: return { type: random.pick(['NFC', 'NFD', 'NFKC', 'NFKD']) };
    case 1: return { type: 'Lowercase' };
    case 2: return { type: 'Prepend', prepend: random.pick(['▁', 'a', ' ']) };
    case 3: return { type: 'Strip', strip_left: random.chance(50), strip_right: random.chance(50) };
    default: return { type: 'Replace', pattern: random.pick(PATTERNS.filter((p) => p.Regex !== 'a*')), content: random.pick(['', '▁', 'ab', 'x']) };
  }
}

function metaspace() {
  return { type: 'Metaspace', replacement: random.pick(['▁', '_']), prepend_scheme: random.pick(['always', 'never', 'first']), split: random.chance(50) };
}

function preTokenizer(byteLevel) {
  switch (random.below(byteLevel ? 2 : 5)) {
    case 0: case 1: return { type: 'Split', pattern: random.pick(PATTERNS), behavior: random.pick(BEHAVIORS), invert: random.chance(40) };
    case 2: return { type: 'Digits', individual_digits: random.chance(50) };
    default: return metaspace();
  }
}

function decoder() {
  switch (random.below(6)) {
    case 0: return { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true };
    case 1: return metaspace();
    case 2: return { type: 'ByteFallback' };
    case 3: return { type: 'Fuse' };
    case 4: return { type: 'Replace', pattern: { String: random.pick(['▁', 'a', 'ab', ' ']) }, content: random.pick(['', ' ', 'xy']) };
    default: return { type: 'Strip', content: random.pick([' ', 'a', '▁']), start: random.below(3), stop: 0 };
  }
}

function addedToken(id, content) {
  const flag = () => random.chance(30);
  return { id, content, single_word: flag(), lstrip: flag(), rstrip: flag(), normalized: random.chance(50), special: random.chance(50) };
}

function definition() {
  const byteLevel = random.chance(30);
  const prefix = !byteLevel && random.chance(15) ? '##' : null;
  const suffix = !byteLevel && random.chance(15) ? '</w>' : null;
  const vocab = {};
  const addPiece = (piece) => { if (piece !== '' && !(piece in vocab)) vocab[piece] = Object.keys(vocab).length; };
  if (random.chance(60)) addPiece('<unk>');
  if (random.chance(40)) for (let byte = 0; byte < 256; ++byte) if (byte !== 0x41 || random.chance(80)) addPiece(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  for (const c of [...'abcAB12 ▁Ġ_.xé日¡Ã©']) if (random.chance(85)) { addPiece(c); if (prefix) addPiece(prefix + c); if (suffix) { addPiece(c + suffix); addPiece(`${prefix ?? ''}${c}${suffix}`); } }
  const merges = [];
  for (let i = 0; i < 30; ++i) {
    const pieces = Object.keys(vocab).filter((p) => !p.startsWith('<'));
    if (pieces.length === 0) break;
    const left = random.pick(pieces);
    const right = random.pick(pieces.filter((p) => !prefix || p.startsWith(prefix)).concat(prefix ? [] : pieces));
    if (right === undefined || left.length + right.length > 8 || merges.some(([l, r]) => l === left && r === right)) continue;
    addPiece(left + (prefix ? right.slice(prefix.length) : right));
    merges.push([left, right]);
  }
  const unk = '<unk>' in vocab && random.chance(80) ? '<unk>' : null;
  const added = [];
  for (const content of ['<x>', '[y]', ' z', 'ab', '<s>', '.', 'É']) if (random.chance(35)) added.push(content);
  let next = Object.keys(vocab).length;
  const addedTokens = added.map((content) => addedToken(content in vocab ? vocab[content] : next++, content));
  const pre = some(2, () => preTokenizer(byteLevel));
  if (byteLevel) pre.push({ type: 'ByteLevel', add_prefix_space: random.chance(50), trim_offsets: true, use_regex: random.chance(50) });
  const normalizers = sequence('Sequence', 'normalizers', 2, normalizer);
  // Elsewhere "first" depends on where in the input a changed word came from, and is refused here.
  pre.forEach((stage, i) => { if (stage.prepend_scheme === 'first' && (i > 0 || normalizers !== null)) stage.prepend_scheme = 'always'; });
  const start = addedTokens.find((token) => token.content === '<s>');
  const special = { SpecialToken: { id: '<s>', type_id: 0 } };
  const template = start && { type: 'TemplateProcessing', single: [...some(2, () => special), { Sequence: { id: 'A', type_id: 0 } }, ...some(1, () => special)],
    pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }], special_tokens: { '<s>': { id: '<s>', ids: [start.id], tokens: ['<s>'] } } };
  return { version: '1.0', truncation: null, padding: null, added_tokens: addedTokens,
    normalizer: normalizers,
    pre_tokenizer: pre.length === 0 ? null : { type: 'Sequence', pretokenizers: pre },
    post_processor: template && random.chance(30) ? { type: 'Sequence', processors: [{ type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true }, template] } : template ?? null,
    decoder: sequence('Sequence', 'decoders', 3, decoder),
    model: { type: 'BPE', dropout: null, unk_token: unk, continuing_subword_prefix: prefix, end_of_word_suffix: suffix, fuse_unk: random.chance(50),
      byte_fallback: random.chance(40), ignore_merges: random.chance(30), vocab, merges: random.chance(50) && !merges.flat().some((p) => p.includes(' ')) ? merges.map((m) => m.join(' ')) : merges } };
}

const file = new CaseFile();
const TEXTS = 16;
// The original looks for an added token that normalizes to nothing between all bytes, and ends the
// process when it finds one inside a character. Such a tokenizer is refused here.
function hasEmptyToken(drawn, original) {
  const normalizer = original.getNormalizer();
  return normalizer !== null && drawn.added_tokens.some((token) => token.normalized && normalizer.normalizeString(token.content) === '');
}

for (let i = Number(options.count); i > 0;) {
  const isPattern = random.chance(40);
  const drawn = isPattern ? patternTokenizer(random) : definition();
  const json = JSON.stringify(drawn);
  let original;
  try {
    original = Original.fromString(json);
  } catch {
    continue;  // Not every pattern that can be drawn is one.
  }
  if (hasEmptyToken(drawn, original)) continue;
  --i;
  const cases = [];
  for (let k = 0; k < TEXTS; ++k) {
    const flags = (random.chance(50) ? ADD_SPECIAL : 0) | (random.chance(30) ? SKIP_SPECIAL : 0);
    const input = isPattern ? text(14, PATTERN_CHARACTERS) : text(12);
    const ids = (await original.encode(input, null, { addSpecialTokens: Boolean(flags & ADD_SPECIAL) })).getIds();
    cases.push([flags, input, ids, await original.decode(ids, Boolean(flags & SKIP_SPECIAL))]);
  }
  file.text(json);
  file.number(cases.length);
  for (const c of cases) file.add(...c);
}
file.save(options.out);
