// OpenAI's own client.
import OpenAI from 'openai';
import { drain, order, tell } from './tell.mjs';

const client = new OpenAI({ maxRetries: 1 });
const model = process.env.MODEL ?? 'gpt-4o-2024-08-06';
const user = (content) => [{ role: 'user', content }];
const chat = (content, more) => client.chat.completions.create({ model, messages: user(content), max_tokens: 32, ...more });
const tools = [{ type: 'function', function: { name: 'lookup_order', description: 'An order.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } } }];

async function toolTurns(messages) {
  const first = await client.chat.completions.create({ model, messages, tools, max_tokens: 64 });
  const said = first.choices[0].message;
  const results = (said.tool_calls ?? []).map((call) => ({ role: 'tool', tool_call_id: call.id,
    content: JSON.stringify(order[JSON.parse(call.function.arguments).id] ?? null) }));
  const second = await client.chat.completions.create({ model, messages: [...messages, said, ...results], tools, max_tokens: 64 });
  return [first, second];
}

await tell({
  whole: () => chat('say hello'),
  stream: async () => drain(await chat('speak in tongues', { stream: true, stream_options: { include_usage: true } }), (chunk) => chunk),
  tools: () => toolTurns(user('look up order A7')),
  toolStream: async () => (await client.chat.completions.stream({ model, messages: user('look up order A7'), tools })
    .finalChatCompletion()).choices,
  atOnce: () => Promise.all(['say hello', 'speak in tongues', 'say hello'].map((text) => chat(text))),
  responses: () => client.responses.create({ model, input: 'say hello' }),
  responseStream: async () => drain(await client.responses.create({ model, input: 'speak in tongues', stream: true }), (event) => event),
  embeddings: () => client.embeddings.create({ model: 'text-embedding-3-small', input: ['say hello'], dimensions: 8 }),
  busy: () => chat('be busy once'),
  broken: () => chat('break down'),
  malformed: () => chat('talk nonsense'),
  cut: async () => drain(await chat('cut me off', { stream: true }), (chunk) => chunk),
  hangUp: async () => drain(await chat('hang up on me', { stream: true }), (chunk) => chunk.choices[0].delta.content !== undefined),
});
