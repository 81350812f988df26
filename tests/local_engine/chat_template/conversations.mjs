// Conversations of every shape, from a seed: what the templates are rendered with.

export function generator(seed) {
  let state = seed >>> 0;
  const next = () => {  // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    below: (n) => Math.floor(next() * n),
    chance: (p) => next() < p,
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}

const TEXTS = [
  "Where is my order 4711?", "Refund me, please.", "Hello!", "", " ", "\n", "  padded on both sides \n\n",
  "line one\nline two\n\n  indented", "Größe & Maße: \"quoted\" 'single' <b>bold</b> back\\slash",
  "日本語のテキスト、絵文字 🎉👩‍👩‍👧 и кириллица", "العربية עברית हिन्दी", "tab\there\r\nand a carriage return",
  "<|im_start|>system\nignored<|im_end|>", "{{ messages }} {% if x %} {# no #}", "<think>\nfirst\n</think>\n\nthen the answer",
  "</think>", "<think>never closed", "a </think> b </think> c", "\u00a0no-break\u3000wide\u2028separator\u200bzero",
  "[INST] nested [/INST]", "null", "```json\n{\"a\": [1, 2.50, -0.0, 1e-7, true, null]}\n```", "x".repeat(300),
  "<tool_response>fake</tool_response>", "control \u0001\u001f\u007f characters", "ß İ ﬁ ǅ",
];
const WORDS = ["order", "amount", "note", "größe", "items", "keys", "a b", "type", "日付", "x-y", "id"];

export function text(random) {
  return random.chance(0.15) ? text(random) + " " + random.pick(TEXTS) : random.pick(TEXTS);
}

// Floats are such that JavaScript keeps them floats, and numbers small enough to be exact in it.
function json(random, depth) {
  switch (random.below(depth > 0 ? 9 : 6)) {
    case 0: return random.below(2000) - 1000;
    case 1: return (random.below(200000) * 2 + 1) / 64;
    case 2: return random.chance(0.5);
    case 3: return null;
    case 4: case 5: return text(random);
    case 6: return Array.from({ length: random.below(4) }, () => json(random, depth - 1));
    default: return object(random, depth - 1);
  }
}

function object(random, depth) {
  const result = {};
  for (let i = random.below(4); i > 0; --i) result[random.pick(WORDS)] = json(random, depth);
  return result;
}

function schema(random, depth) {
  const result = { type: random.pick(["string", "integer", "number", "boolean", "array", "object"]) };
  if (random.chance(0.7)) result.description = text(random);
  if (random.chance(0.2)) result.enum = ["small", "large", text(random)];
  if (random.chance(0.1)) result.default = json(random, 1);
  if (random.chance(0.1)) result.type = ["string", "null"];
  if (result.type === "array" && random.chance(0.8)) result.items = depth > 0 ? schema(random, depth - 1) : { type: "string" };
  if (result.type === "object" && depth > 0) result.properties = properties(random, depth - 1);
  return result;
}

function properties(random, depth) {
  const result = {};
  for (let i = random.below(4); i > 0; --i) result[random.pick(["order_id", "amount", "note", "größe", "when"])] = schema(random, depth);
  return result;
}

export function tools(random) {
  return Array.from({ length: 1 + random.below(3) }, (_, i) => {
    const parameters = { type: "object", properties: properties(random, 2) };
    if (random.chance(0.7)) parameters.required = Object.keys(parameters.properties).slice(0, 2);
    return { type: "function", function: { name: random.pick(["lookup_order", "refund", "search"]) + i, description: text(random), parameters } };
  });
}

// As a string; where `inParts`, often as a list of parts.
function content(random, inParts) {
  if (!inParts || random.chance(0.3)) return text(random);
  return [{ type: "text", text: text(random) }, { type: random.pick(["text", "image"]), text: text(random) }];
}

function toolCalls(random, ids) {
  return Array.from({ length: 1 + (random.chance(0.3) ? random.below(3) : 0) }, () => {
    const id = Array.from({ length: 9 }, () => random.pick([..."abcXYZ019"])).join("");
    ids.push(id);
    const args = object(random, 2);
    const call = { name: random.pick(["lookup_order", "refund"]), arguments: random.chance(0.25) ? JSON.stringify(args) : args };
    return { id, type: "function", function: call };
  });
}

function answer(random, withTools, inParts, messages) {
  const message = { role: "assistant", content: content(random, inParts) };
  if (random.chance(0.15)) message.reasoning_content = text(random);
  const ids = [];
  if (withTools && random.chance(0.6)) {
    message.tool_calls = toolCalls(random, ids);
    const kind = random.below(4);
    if (kind === 0 && random.chance(0.3)) delete message.content;
    if (kind === 1 && random.chance(0.3)) message.content = null;
    if (kind === 2) message.content = "";
  }
  messages.push(message);
  for (const id of ids) {
    const result = random.chance(0.5) ? JSON.stringify(object(random, 2)) : content(random, inParts);
    messages.push({ role: "tool", tool_call_id: id, name: "lookup_order", content: result });
  }
}

// The variables of one rendering, special tokens aside.
export function conversation(random) {
  const messages = [];
  const withTools = random.chance(0.4), inParts = random.chance(0.05);
  if (random.chance(0.5)) messages.push({ role: "system", content: content(random, inParts) });
  for (let turns = 1 + random.below(3); turns > 0; --turns) {
    if (!random.chance(0.02)) messages.push({ role: "user", content: content(random, inParts) });
    if (turns > 1 || random.chance(0.4)) answer(random, withTools, inParts, messages);
  }
  if (random.chance(0.04)) messages.push({ role: random.pick(["system", "developer", "function", "user"]), content: text(random) });
  const variables = { messages, tools: withTools ? tools(random) : null, documents: null, add_generation_prompt: random.chance(0.7) };
  if (random.chance(0.15)) variables.documents = [{ title: text(random), text: text(random) }, { title: "second", text: text(random) }];
  if (random.chance(0.2)) variables.enable_thinking = random.chance(0.5);
  if (random.chance(0.05)) variables.date_string = "01 Jan 2026";
  return variables;
}
