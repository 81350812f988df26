// OpenAI's agents, which also send traces to a host that no variable names.
import { Agent, BatchTraceProcessor, getGlobalTraceProvider, OpenAITracingExporter, run, setTraceProcessors,
  tool } from '@openai/agents';
import dns from 'node:dns';
import { z } from 'zod';
import { order, tell } from './tell.mjs';

// Of no use and of no harm where nothing guards the network: connecting to it fails before a packet is sent.
const nowhere = '255.255.255.255';
const lookup = dns.lookup;
dns.lookup = (host, options, callback) => (host === 'api.openai.com'
  ? process.nextTick(callback, null, options.all ? [{ address: nowhere, family: 4 }] : nowhere, 4)
  : lookup(host, options, callback));

// As by default, but for the patience.
setTraceProcessors([new BatchTraceProcessor(new OpenAITracingExporter({ maxRetries: 1 }))]);

const lookupOrder = tool({ name: 'lookup_order', description: 'An order.', parameters: z.object({ id: z.string() }),
  execute: async ({ id }) => JSON.stringify(order[id] ?? null) });
const agent = new Agent({ name: 'Clerk', instructions: 'You are terse.', tools: [lookupOrder], model: 'gpt-4o-2024-08-06' });

async function streamed(prompt) {
  const result = await run(agent, prompt, { stream: true });
  const types = [];
  for await (const event of result) types.push(event.data?.type ?? event.name ?? event.type);
  await result.completed;
  return { types, final: result.finalOutput };
}

await tell({
  whole: async () => (await run(agent, 'say hello')).finalOutput,
  stream: () => streamed('speak in tongues'),
  tools: async () => {
    const result = await run(agent, 'look up order A7');
    return { final: result.finalOutput, items: result.newItems.map((item) => item.rawItem) };
  },
  toolStream: () => streamed('look up order A7'),
  busy: async () => (await run(agent, 'be busy once')).finalOutput,
  broken: async () => (await run(agent, 'break down')).finalOutput,
  malformed: async () => (await run(agent, 'talk nonsense')).finalOutput,
});
await getGlobalTraceProvider().forceFlush();
process.exit(0);
