// peer_bench.mjs MODEL.gguf --threads N --pieces N
// What node-llama-cpp does on a model: tokens per second of a prompt of 512, and of greedy decoding
// with 1, 4, 8 and 16 sequences after 32 tokens each. One JSON object on standard output, with every
// piece that was measured. Run from a folder that has node-llama-cpp (build/peer_engine).
import fs from "node:fs";
import path from "node:path";
import {createRequire} from "node:module";
import {parseArgs} from "node:util";
import {pathToFileURL} from "node:url";

const PROMPT_TOKENS = 512;
const CONTEXT_TOKENS = 32;
const DECODE_STEPS = 24;
const BATCHES = [1, 4, 8, 16];

const {values, positionals} = parseArgs({
    allowPositionals: true,
    options: {
        threads: {type: "string", default: "2"},
        pieces: {type: "string", default: "3"},
    },
});
const [modelPath] = positionals;
if (!modelPath) {
    console.error("usage: peer_bench.mjs MODEL.gguf [--threads N] [--pieces N]");
    process.exit(2);
}
const threads = Number(values.threads);

const require = createRequire(path.join(process.cwd(), "package.json"));
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(require.resolve("node-llama-cpp")));

// Ids that are ordinary tokens in any vocabulary of more than a thousand.
const tokensFor = (sequence, count) => Array.from({length: count}, (_, i) => 300 + ((i * 37 + sequence * 101) % 700));

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: threads});
const model = await llama.loadModel({modelPath, gpuLayers: 0});

async function withSequences(count, length, use) {
    const context = await model.createContext({sequences: count, contextSize: length, batchSize: PROMPT_TOKENS, threads});
    const result = await use(Array.from({length: count}, () => context.getSequence()));
    await context.dispose();
    return result;
}

async function secondsOf(work) {
    const start = performance.now();
    await work();
    return (performance.now() - start) / 1000;
}

const prefill = () => withSequences(1, PROMPT_TOKENS + 64, async ([sequence]) =>
    PROMPT_TOKENS / await secondsOf(() => sequence.evaluateWithoutGeneratingNewTokens(tokensFor(0, PROMPT_TOKENS))));

async function generate(sequence) {
    let count = 0;
    for await (const _ of sequence.evaluate([500], {temperature: 0, yieldEogToken: true})) {
        if (++count === DECODE_STEPS) break;
    }
    if (count !== DECODE_STEPS) throw new Error(`only ${count} tokens came`);
}

const decode = (batch) => withSequences(batch, 128, async (sequences) => {
    await Promise.all(sequences.map((s, i) => s.evaluateWithoutGeneratingNewTokens(tokensFor(i, CONTEXT_TOKENS))));
    return batch * DECODE_STEPS / await secondsOf(() => Promise.all(sequences.map(generate)));
});

const result = {engine: "node-llama-cpp", prefill: [], decode: {}};
await prefill(); // Pages of the model come in.
for (let piece = 0; piece < Number(values.pieces); ++piece) {
    result.prefill.push(await prefill());
    for (const batch of BATCHES) (result.decode[batch] ??= []).push(await decode(batch));
}
const status = fs.readFileSync("/proc/self/status", "utf8");
result.peak_rss_bytes = Number(/VmHWM:\s+(\d+)/.exec(status)[1]) * 1024;
console.log(JSON.stringify(result));
process.exit(0);
