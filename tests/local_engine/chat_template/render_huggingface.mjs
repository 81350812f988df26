// Writes one line of JSON for each template and then for each rendering by @huggingface/jinja:
// what was asked, and what came out or why nothing did.
//
// usage: render_huggingface.mjs DIR COUNT SEED CONFIG... >CASES; DIR as the install script leaves it,
// CONFIG a tokenizer_config.json with one more template.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { conversation, generator } from "./conversations.mjs";

const [folder, count, seed] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const packages = path.join(folder, "node_modules/@huggingface");
const jinja = JSON.parse(fs.readFileSync(path.join(packages, "jinja/package.json")));
const { Template } = await import(pathToFileURL(path.join(packages, "jinja", jinja.module ?? jinja.main)));

// The collection exports no templates, but its source is one array literal of them.
function collectionTemplates() {
  const source = fs.readFileSync(path.join(packages, "ollama-utils/dist/index.js"), "utf8");
  const start = source.indexOf("[", source.indexOf("OLLAMA_CHAT_TEMPLATE_MAPPING ="));
  const end = source.indexOf("\n];", start);
  const entries = new Function(`return ${source.slice(start, end + 2)}`)();
  return entries.map((entry) => ({ name: entry.model, source: entry.gguf }));
}

function tokenizerTemplates() {
  const files = fs.readdirSync(path.join(folder, "tokenizers")).map((file) => path.join(folder, "tokenizers", file));
  return [...process.argv.slice(5), ...files].map((file) => {
    return { name: file, source: JSON.parse(fs.readFileSync(file)).chat_template };
  });
}

// The clock stands still for strftime_now.
globalThis.Date = class extends Date {
  constructor() {
    super(2026, 6, 26, 9, 5, 3);
  }
};

const emit = (line) => fs.writeSync(1, JSON.stringify(line) + "\n");
const known = new Set();
const templates = [...tokenizerTemplates(), ...collectionTemplates()]
  .filter(({ source }) => typeof source === "string" && !known.has(source) && known.add(source));
const random = generator(seed);
for (const { name, source } of templates) {
  emit({ template: name, source });
  let compiled = null, broken = null;
  try {
    compiled = new Template(source);
  } catch (error) {
    broken = String(error.message);
  }
  for (let i = Math.ceil(count / templates.length); i > 0; --i) {
    const variables = { ...conversation(random), bos_token: "<s>", eos_token: "</s>", pad_token: "<pad>", unk_token: "<unk>" };
    const line = { variables };
    try {
      if (compiled === null) throw new Error(broken);
      line.text = compiled.render(structuredClone(variables));
    } catch (error) {
      line.error = String(error.message);
    }
    emit(line);
  }
}
