// request_variance.mjs MODEL.gguf [--server URL] [--requests N] [--tokens N] [--prompt TEXT]
// Sends one greedy request many times under a load that comes and goes, with other requests in
// between, and counts how many different answers come back: texts, and series of log-probabilities
// bit by bit. Without --server the engine is node-llama-cpp, on MODEL.gguf (run it from
// build/peer_engine); with it, whatever answers /v1/completions there. One JSON object on standard
// output.
import path from "node:path";
import {createRequire} from "node:module";
import {parseArgs} from "node:util";
import {pathToFileURL} from "node:url";

const SLOTS = 32;
const ANSWERS_A_PHASE = 24; // Then another number of requests is kept in flight.
const IN_FLIGHT = [1, 4, 32, 2, 16, 1, 8, 32, 3];
const OTHER_PROMPTS = ["Once upon a time", "The little dog said", "Lily and Tom went to the park. They"];

const {values, positionals} = parseArgs({
    allowPositionals: true,
    options: {
        server: {type: "string"},
        requests: {type: "string", default: "1000"},
        tokens: {type: "string", default: "200"},
        prompt: {type: "string", default: "A bird"},
        threads: {type: "string", default: "2"},
    },
});
if (!positionals.length && !values.server) {
    console.error("usage: request_variance.mjs MODEL.gguf [--server URL] [--requests N] [--tokens N] [--prompt TEXT]");
    process.exit(2);
}
const wanted = Number(values.requests);
const maxTokens = Number(values.tokens);

function bitsOf(numbers) {
    return Buffer.from(Float64Array.from(numbers).buffer).toString("base64");
}

// Answers: {tokens: [...], text, bits}.
async function serverEngine(url) {
    const model = (await (await fetch(`${url}/v1/models`)).json()).data[0].id;
    return async (prompt) => {
        const response = await fetch(`${url}/v1/completions`, {
            method: "POST",
            headers: {"content-type": "application/json"},
            body: JSON.stringify({model, prompt, max_tokens: maxTokens, temperature: 0, logprobs: 1}),
        });
        const answer = await response.json();
        if (!response.ok) throw new Error(JSON.stringify(answer));
        const {text, logprobs} = answer.choices[0];
        return {text, tokens: logprobs.tokens, bits: bitsOf(logprobs.token_logprobs)};
    };
}

async function peerEngine(modelPath) {
    const require = createRequire(path.join(process.cwd(), "package.json"));
    const {getLlama, LlamaLogLevel} = await import(pathToFileURL(require.resolve("node-llama-cpp")));
    const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: Number(values.threads)});
    const model = await llama.loadModel({modelPath, gpuLayers: 0});
    const context = await model.createContext({sequences: SLOTS, contextSize: 512, batchSize: 512, threads: Number(values.threads)});
    const free = Array.from({length: SLOTS}, () => context.getSequence());
    return async (prompt) => {
        const sequence = free.pop();
        await sequence.clearHistory();
        const tokens = [], confidences = [];
        const input = model.tokenize(prompt);
        input.unshift(model.tokens.bos);
        for await (const {token, confidence} of sequence.evaluateWithMetadata(input, {confidence: true}, {temperature: 0})) {
            tokens.push(token);
            confidences.push(confidence);
            if (tokens.length === maxTokens) break;
        }
        free.push(sequence);
        return {text: model.detokenize(tokens), tokens, bits: bitsOf(confidences)};
    };
}

const ask = values.server ? await serverEngine(values.server) : await peerEngine(positionals[0]);
const answers = [];
let started = 0, asked = 0, finished = 0;

function target() {
    return IN_FLIGHT[Math.floor(finished / ANSWERS_A_PHASE) % IN_FLIGHT.length];
}

// Every fourth request is another one, so that neighbours differ in length and content.
async function askOne() {
    const other = asked++ % 4 === 3;
    if (!other) ++started;
    const answer = await ask(other ? OTHER_PROMPTS[asked % OTHER_PROMPTS.length] : values.prompt);
    ++finished;
    if (!other) answers.push(answer);
    if (process.stderr.isTTY) process.stderr.write(`\r${answers.length} of ${wanted}`);
}

await new Promise((resolve, reject) => {
    let inFlight = 0;
    const fill = () => {
        while (inFlight < target() && started < wanted) {
            ++inFlight;
            askOne().then(() => { --inFlight; fill(); }, reject);
        }
        if (inFlight === 0 && started >= wanted) resolve();
    };
    fill();
});

const groups = new Map();
for (const answer of answers) groups.set(answer.text, (groups.get(answer.text) ?? 0) + 1);
const first = answers[0];
const divergences = answers.filter((a) => a.text !== first.text).map((a) => {
    const at = a.tokens.findIndex((token, i) => token !== first.tokens[i]);
    return at < 0 ? a.tokens.length : at;
});
console.log(JSON.stringify({
    engine: values.server ? "server" : "node-llama-cpp",
    requests: answers.length,
    texts: groups.size,
    largest_group: Math.max(...groups.values()),
    logprob_patterns: new Set(answers.map((a) => a.bits)).size,
    first_divergent_token: divergences.length ? Math.min(...divergences) : null,
}));
process.exit(0);
