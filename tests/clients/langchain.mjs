// LangChain's models of OpenAI.
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { drain, order, tell } from './tell.mjs';

const model = new ChatOpenAI({ model: 'gpt-4o-2024-08-06', maxRetries: 1 });
const picked = ({ id, content, tool_calls: calls, usage_metadata: usage }) => ({ id, content, calls, usage });
const tools = [{ type: 'function', function: { name: 'lookup_order', description: 'An order.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } } }];

async function toolTurns(prompt) {
  const able = model.bindTools(tools);
  const messages = [new HumanMessage(prompt)];
  const first = await able.invoke(messages);
  const results = first.tool_calls.map((call) => new ToolMessage({ tool_call_id: call.id,
    content: JSON.stringify(order[call.args.id] ?? null) }));
  return [first, await able.invoke([...messages, first, ...results])].map(picked);
}

await tell({
  whole: async () => picked(await model.invoke('say hello')),
  stream: async () => drain(await model.stream('speak in tongues'), picked),
  tools: () => toolTurns('look up order A7'),
  atOnce: async () => (await model.batch(['say hello', 'speak in tongues', 'say hello'])).map(picked),
  embeddings: () => new OpenAIEmbeddings({ model: 'text-embedding-3-small', dimensions: 8 }).embedQuery('say hello'),
  busy: async () => picked(await model.invoke('be busy once')),
  broken: async () => picked(await model.invoke('break down')),
  malformed: async () => picked(await model.invoke('talk nonsense')),
  cut: async () => drain(await model.stream('cut me off'), picked),
});
