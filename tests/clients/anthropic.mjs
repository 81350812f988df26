// Anthropic's own client.
import Anthropic from '@anthropic-ai/sdk';
import { drain, order, tell } from './tell.mjs';

const client = new Anthropic({ maxRetries: 1 });
const model = 'claude-sonnet-4-6';
const user = (content) => [{ role: 'user', content }];
const create = (content, more) => client.messages.create({ model, max_tokens: 64, messages: user(content), ...more });
const tools = [{ name: 'lookup_order', description: 'An order.',
  input_schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } }];

async function toolTurns(messages) {
  const first = await client.messages.create({ model, max_tokens: 64, messages, tools });
  const results = first.content.filter((block) => block.type === 'tool_use').map((call) => ({ type: 'tool_result',
    tool_use_id: call.id, content: JSON.stringify(order[call.input.id] ?? null) }));
  const second = await client.messages.create({ model, max_tokens: 64, tools,
    messages: [...messages, { role: 'assistant', content: first.content }, { role: 'user', content: results }] });
  return [first, second];
}

await tell({
  whole: () => create('say hello'),
  stream: async () => drain(await create('speak in tongues', { stream: true }), (event) => event),
  tools: () => toolTurns(user('look up order A7')),
  toolStream: () => client.messages.stream({ model, max_tokens: 64, messages: user('look up order A7'), tools }).finalMessage(),
  atOnce: () => Promise.all(['say hello', 'speak in tongues', 'say hello'].map((text) => create(text))),
  busy: () => create('be busy once'),
  broken: () => create('break down'),
  malformed: () => create('talk nonsense'),
  cut: async () => drain(await create('cut me off', { stream: true }), (event) => event),
});
