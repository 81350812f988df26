// Google's own client.
import { GoogleGenAI } from '@google/genai';
import { drain, order, tell } from './tell.mjs';

const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
const patient = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY,
  httpOptions: { retryOptions: { attempts: 2, initialDelay: 0.1 } } });
const model = 'gemini-2.0-flash-001';
const generate = (contents, config, by = client) => by.models.generateContent({ model, contents, config });
const stream = (contents) => client.models.generateContentStream({ model, contents });
// A response holds the head of the HTTP response, too, which is of one connection.
const picked = ({ candidates, usageMetadata, modelVersion }) => ({ candidates, usageMetadata, modelVersion });
const tools = [{ functionDeclarations: [{ name: 'lookup_order', description: 'An order.',
  parametersJsonSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } }] }];

async function toolTurns(prompt) {
  const asked = [{ role: 'user', parts: [{ text: prompt }] }];
  const first = await generate(asked, { tools });
  const results = (first.functionCalls ?? []).map((call) => ({ functionResponse: { name: call.name,
    response: { output: order[call.args.id] ?? null } } }));
  const second = await generate([...asked, first.candidates[0].content, { role: 'user', parts: results }], { tools });
  return [first, second].map(picked);
}

await tell({
  whole: async () => picked(await generate('say hello')),
  stream: async () => drain(await stream('speak in tongues'), picked),
  tools: () => toolTurns('look up order A7'),
  atOnce: async () => (await Promise.all(['say hello', 'speak in tongues'].map((text) => generate(text)))).map(picked),
  busy: async () => picked(await generate('be busy once', {}, patient)),
  broken: async () => picked(await generate('break down')),
  malformed: async () => picked(await generate('talk nonsense')),
  cut: async () => drain(await stream('cut me off'), picked),
});
