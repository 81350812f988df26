// server.mjs MODEL.gguf: node-llama-cpp behind OpenAI's completions API, many requests in one batch. Run from the folder
// that holds its node_modules. Prints its port, and ends when standard input does.
import http from "node:http";
import path from "node:path";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const SLOTS = 16;
const require = createRequire(path.join(process.cwd(), "package.json"));
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(require.resolve("node-llama-cpp")));
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: 1});
const model = await llama.loadModel({modelPath: process.argv[2], gpuLayers: 0});
const context = await model.createContext({sequences: SLOTS, contextSize: 512, batchSize: 512, threads: 1});
const free = Array.from({length: SLOTS}, () => context.getSequence());
const waiting = [];
let count = 0;

const takeSequence = () => free.pop() ?? new Promise((resolve) => waiting.push(resolve));
const giveBack = (sequence) => (waiting.length ? waiting.shift()(sequence) : free.push(sequence));

function topOf(probabilities) {
    const best = [...probabilities].sort((a, b) => b[1] - a[1]).slice(0, 2);
    return Object.fromEntries(best.map(([token, p]) => [model.detokenize([token]), Math.log(p)]));
}

async function complete({prompt, max_tokens: limit}) {
    const sequence = await takeSequence();
    try {
        await sequence.clearHistory();
        const input = [model.tokens.bos, ...model.tokenize(prompt)];
        const tokens = [], logprobs = [], top = [];
        const options = {temperature: 0};
        for await (const step of sequence.evaluateWithMetadata(input, {confidence: true, probabilities: true}, options)) {
            tokens.push(step.token);
            logprobs.push(Math.log(step.confidence));
            top.push(topOf(step.probabilities));
            if (tokens.length === limit) break;
        }
        return {text: model.detokenize(tokens), index: 0, finish_reason: "length",
            logprobs: {tokens: tokens.map((token) => model.detokenize([token])), token_logprobs: logprobs, top_logprobs: top}};
    } finally {
        giveBack(sequence);
    }
}

const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const choice = await complete(JSON.parse(body));
    response.writeHead(200, {"content-type": "application/json"});
    response.end(JSON.stringify({id: `cmpl-${++count}`, object: "text_completion", created: 1, model: "random", choices: [choice]}));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
