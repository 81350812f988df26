// Regular expressions drawn by chance, of all that is supported, and a tokenizer that shows where
// one cuts: every character has an id of its own at the start of a word, and another inside.
const LITERALS = ['a', 'b', 'A', 'k', ' ', '\\n', 'é', '1', '\\.', '-', 'x', '\\t', '\\r', "'", '日', '\\u0301', '_', '/'];
const CLASSES = ['\\s', '\\S', '\\d', '\\D', '\\w', '\\p{L}', '\\p{Lu}', '\\p{N}', '\\p{M}', '\\P{L}', '\\p{Han}', '\\p{P}', '\\p{Z}', '\\p{C}', '\\p{Ll}'];
const RANGES = ['a-c', '0-9', 'A-Z', 'é-ü', ' -/'];
const REPEATS = ['*', '+', '?', '*?', '+?', '??', '*+', '++', '?+', '{2}', '{1,2}', '{1,}', '{,2}', '{1,2}?'];
export const PATTERN_CHARACTERS = [...'aabbcAkKx1 2 _-./\n\r\t\'', 'é', 'e\u0301', '日', 'ſ', 'K', '\u00a0', '½', '٣', '😀', '\u0085', '\u180e', 'ß', '\u2028',
  '²', 'ⓐ', '\u1c89', '\u0295', '\u{11f04}'];

function members(random) {
  let text = `[${random.chance(35) ? '^' : ''}`;
  for (let i = 1 + random.below(3); i > 0; --i) {
    if (random.chance(40)) text += random.pick(CLASSES);
    else text += random.chance(25) ? random.pick(RANGES) : random.pick(LITERALS.filter((c) => c !== '-'));
  }
  return `${text}]`;
}

function atom(random, depth, caseless) {
  if (caseless) return random.pick(['a', 'b', "'", 'k', 'A', 'x', '\\.', '1', ' ', '[ab]', '[kx]', '[aK]']);
  switch (random.below(depth > 0 ? 10 : 6)) {
    case 0: case 1: case 2: return random.pick(LITERALS);
    case 3: return random.pick([...CLASSES, '\\W']);
    case 4: return members(random);
    case 5: return random.pick(['.', '^', '$']);
    case 6: return `(?i:${alternatives(random, 0, true)})`;
    case 7: return `(?${random.pick(['=', '!', '>', ':', ':'])}${alternatives(random, depth - 1, false)})`;
    case 8: return `(?<${random.pick(['=', '!'])}${random.pick(['a', '\\s', '\\p{L}', ' '])})`;
    default: return `(${alternatives(random, depth - 1, false)})`;
  }
}

function alternatives(random, depth, caseless) {
  const list = Array.from({ length: 1 + random.below(3) }, () => Array.from({ length: 1 + random.below(3) }, () => {
    const one = atom(random, depth, caseless);
    const repeats = !/^(\^|\$|\(\?[=!<])/.test(one) && random.chance(35);
    return one + (repeats ? random.pick(REPEATS) : '');
  }).join(''));
  return list.join('|');
}

export function patternTokenizer(random) {
  const vocab = { u: 0 };
  for (const character of PATTERN_CHARACTERS.flatMap((text) => [...text])) {
    for (const piece of [character, `##${character}`]) if (!(piece in vocab)) vocab[piece] = Object.keys(vocab).length;
  }
  return { version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null,
    pre_tokenizer: { type: 'Split', pattern: { Regex: alternatives(random, 2, false) }, behavior: 'Isolated', invert: false },
    post_processor: null, decoder: null,
    model: { type: 'BPE', dropout: null, unk_token: 'u', continuing_subword_prefix: '##', end_of_word_suffix: null, fuse_unk: true, byte_fallback: false,
      vocab, merges: [] } };
}
