// Texts that tokenizers stumble over, from a seed: pieces of real shapes in many scripts, joined and
// mutated. The same seed gives the same texts.

// A generator of uniform 32-bit numbers: a Weyl sequence through a mixer.
export class Random {
  #state;

  constructor(seed) { this.#state = seed >>> 0; }

  next() {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let x = this.#state;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad) >>> 0;
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97) >>> 0;
    return (x ^ (x >>> 15)) >>> 0;
  }

  below(end) { return this.next() % end; }
  chance(percent) { return this.below(100) < percent; }
  pick(list) { return list[this.below(list.length)]; }
}

const SENTENCES = [
  "I'd say we've seen it, they'll know she'S here; it's DON'T, y'all'd've.",
  'The refund of $1,234.56 (order #A-0091) was issued on 2024-02-29T23:59:60Z.',
  'Ça coûte 12 € — c’est « déjà » naïf, œuvre, Straße, İstanbul, ſpecial ’ſ \'ſ.',
  'Съешь ещё этих мягких французских булок, да выпей чаю. №5',
  'Ο καλύμνιος σφουγγαράς ψιθύρισε πως θα βουτήξει χωρίς να διστάζει.',
  'מה שלומך? שָׁלוֹם עולם 123 (טקסט)', 'السلام عليكم ٠١٢٣٤٥ مُحَمَّدٌ ؟',
  'हिन्दी में क्षत्रिय, ज्ञान और श्रीमान् १२३।', 'ภาษาไทยไม่มีช่องว่าง ๑๒๓', 'தமிழ் மொழி ௧௨௩',
  '日本語のテキスト、カタカナとひらがな。ﾊﾝｶｸ ＡＢＣ１２３', '中文文本：你好，世界！退款已经批准了。', '한국어 문장입니다. 가각힣 각',
  'Tiếng Việt có nhiều dấu: ậ ệ ỗ ữ', 'ქართული ԱՐԵՎ ⲁⲃⲅ 𐐀𐐨 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛', '𠀀𠮷野家 鿿 㐀',
  'for (int i = 0; i < n; ++i) {\n\tsum += a[i] * 0x1F;\n}\n', 'def f(x):\n    return x**2 if x else None\r\n',
  '{"role": "user", "content": "a\\nb", "n": [1, 2.5e-3, null]}', 'SELECT * FROM runs WHERE id >= 10; -- x',
  'https://example.com/a/b?q=%20&z=1#frag', '<div class="x">&nbsp;</div>', '## Title\n\n- item\n  1. one\n\n```c\nx\n```',
  '∑∞ ∂f/∂x ≈ ½ ⅓ ² ³ ⁴ ₂ Ⅷ ⅷ ① ⑳ ㊿', 'ﬁ ﬂ ﬆ Å Å Å ḍ̇ ḍ̇ ﷺ ㍿', '…“quoted”—dash–dash-minus−',
];
const EMOJI = ['😀', '👩‍💻', '👨‍👩‍👧‍👦', '🏳️‍🌈', '🇩🇪', '🇩', '👍🏽', '1️⃣', '❤️', '🧑🏿‍🚀', '🫠', '🪿', '‍', '️', '🏽'];
const SPACES = [' ', '  ', '   ', '        ', '\t', '\n', '\n\n', '\r\n', '\r', ' \n', '\n ', '\u00a0', '\u3000', '\u2003', '\u200b',
  '\u2028', '\u2029', '\u0085', '\v', '\f', '\u180e', '\ufeff', '\u1680', '\u202f', ' \t \n \t'];
const MARKS = ['\u0301', '\u0323', '\u0307', '\u0308', '\u0345', '\u0334', '\u3099', '\u309a', '\u05b7', '\u0651', '\u0e49', '\u0f71',
  '\u0f72', '\u094d', '\u093c', '\u1ab0', '\u20dd', '\u{1d165}', '\u{1d16d}', '\u0340', '\u0344', '\u0897', '\u{10eab}'];
const LOOKALIKES = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<s>', '</s>', '<unk>', '<bos>', '<eos>', '<0x41>', '<0xE2>', '<0x0A>',
  '[INST]', '[/INST]', '<|begin_of_text|>', '<|eot_id|>', '<|start_header_id|>', '<|channel|>', '<|return|>', '<tool_call>', '<think>', '</think>',
  '<|', '|>', '<|im_', 'im_end|>', '< s>', '<S>', '<|endoftext', '▁', '▁▁', 'Ġ', 'Ċ', 'Ġthe', '<pad>', '<mask>', '<start_of_turn>', '<2mass>'];
// A code point from a block that has many of its kind, so that every class of pattern is met.
const BLOCKS = [[0x00, 0x20], [0x20, 0x7f], [0x7f, 0xa0], [0xa0, 0x180], [0x180, 0x250], [0x250, 0x300], [0x300, 0x370], [0x370, 0x400],
  [0x400, 0x530], [0x590, 0x700], [0x900, 0xe00], [0xe00, 0x1000], [0x1100, 0x1200], [0x1680, 0x1a00], [0x1e00, 0x2000], [0x2000, 0x2c00],
  [0x2e80, 0x3100], [0x3100, 0x3400], [0x4e00, 0x9fff], [0xa000, 0xabff], [0xac00, 0xd7a4], [0xe000, 0xe100], [0xf900, 0xfb00],
  [0xfb00, 0xfe00], [0xfe00, 0xffff], [0x10000, 0x10400], [0x10400, 0x11000], [0x11000, 0x12000], [0x16000, 0x17000], [0x1b000, 0x1b200],
  [0x1d000, 0x1d800], [0x1e000, 0x1f000], [0x1f000, 0x1fb00], [0x20000, 0x20100], [0x2ebf0, 0x2ee60], [0x31350, 0x31400], [0xe0000, 0xe0200],
  [0x10ff00, 0x110000]];

function anyCharacter(random) {
  const [first, end] = random.pick(BLOCKS);
  return String.fromCodePoint(first + random.below(end - first));
}

function number(random) {
  let digits = '';
  for (let i = 1 + random.below(12); i > 0; --i) digits += random.below(10);
  return random.pick(['', '-', '0x', '$', '1.', '']) + digits + random.pick(['', '%', '.5', 'e10', ',000', 'th']);
}

function word(random) {
  const letters = random.pick(['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJ', 'aAbBcC', 'éèüñß', 'абвгд', 'אבגד', '的一是不了', 'あいうカキク']);
  const list = [...letters];
  let text = '';
  for (let i = 1 + random.below(10); i > 0; --i) text += random.pick(list);
  return text + random.pick(['', '', '', "'s", "'S", "'ll", "'LL", "'re", "'VE", "'m", "'d", "'t", '_x', '.', ',', '!?']);
}

function piece(random, sources) {
  switch (random.below(12)) {
    case 0: return random.pick(SENTENCES);
    case 1: return random.pick(EMOJI);
    case 2: return random.pick(SPACES).repeat(1 + (random.chance(20) ? random.below(20) : 0));
    case 3: return word(random) + random.pick(MARKS) + (random.chance(50) ? random.pick(MARKS) : '');
    case 4: return random.pick(sources.lookalikes);
    case 5: return number(random);
    case 6: return anyCharacter(random);
    case 7: { const c = random.chance(50) ? anyCharacter(random) : random.pick([...'a!-=/ \n0Z'] ); return c.repeat(1 + random.below(40)); }
    case 8: case 9: { const text = random.pick(sources.texts); const at = random.below(text.length); return text.slice(at, at + 1 + random.below(120)); }
    default: return ' ' + word(random);
  }
}

function mutate(random, text) {
  const list = [...text];
  if (list.length === 0) return text;
  const at = random.below(list.length);
  switch (random.below(7)) {
    case 0: list.splice(at, 1 + random.below(3)); break;
    case 1: list.splice(at, 0, anyCharacter(random)); break;
    case 2: list.splice(at, 0, random.pick(SPACES)); break;
    case 3: list[at] = random.chance(50) ? list[at].toUpperCase() : list[at].toLowerCase(); break;
    case 4: list.splice(at, 0, ...list.slice(at, at + random.below(12))); break;
    case 5: list.reverse(); break;
    default: return text.normalize(random.pick(['NFC', 'NFD', 'NFKC', 'NFKD']));
  }
  return list.join('');
}

// Without lone surrogates: those are not text.
function wellFormed(text) { return text.toWellFormed ? text.toWellFormed() : text.replace(/\p{Surrogate}/gu, '\ufffd'); }

// `sources.texts` are longer real texts, `sources.added` the added tokens of the tokenizer.
export function randomText(random, sources) {
  const pieces = random.chance(2) ? 30 + random.below(60) : 1 + random.below(8);
  let text = '';
  for (let i = 0; i < pieces; ++i) {
    text += piece(random, sources);
    if (random.chance(25)) text += random.pick([' ', ' ', '\n', '']);
  }
  for (let i = random.below(4); i > 0; --i) text = mutate(random, text);
  return wellFormed(text);
}

export function makeSources(texts, added) {
  return { texts, lookalikes: [...LOOKALIKES, ...added.slice(0, 30), ...added.slice(0, 30).map((token) => token.slice(0, -1)),
    ...added.slice(0, 10).map((token) => ` ${token}`)] };
}

// All code points in order, some hundred a text, so that no class of character goes untested. Left
// out are most of those that are not assigned, which are all alike.
export function* everyCharacter() {
  const SIZE = 256;
  const leftOut = [[0xd800, 0xe000], [0xe100, 0xf800], [0x33500, 0xe0000], [0xe0200, 0x10ff00]];
  for (let first = 0; first < 0x110000; first += SIZE) {
    if (leftOut.some(([from, end]) => first >= from && first < end)) continue;
    let text = '';
    for (let i = 0; i < SIZE; ++i) text += String.fromCodePoint(first + i) + (i % 7 === 3 ? ' ' : i % 7 === 5 ? 'a' : '');
    yield text;
  }
}
