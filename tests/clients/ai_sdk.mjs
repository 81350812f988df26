// The AI SDK with its provider for OpenAI: chat completions and responses.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { drain, order, tell } from './tell.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;
const openai = createOpenAI();
const model = 'gpt-4o-2024-08-06';
const ask = (prompt, more) => ({ model: openai.chat(model), prompt, maxRetries: 1, ...more });
const answer = ({ text, usage, finishReason, response }) => ({ text, usage, finishReason, id: response.id });
const tools = { lookup_order: tool({ description: 'An order.', inputSchema: z.object({ id: z.string() }),
  execute: async ({ id }) => order[id] ?? null }) };
// Errors are told by the stream itself.
const quiet = { onError: () => {} };

await tell({
  whole: async () => answer(await generateText(ask('say hello'))),
  stream: () => drain(streamText(ask('speak in tongues', quiet)).fullStream, ({ type, text }) => ({ type, text })),
  tools: async () => (await generateText(ask('look up order A7', { tools, stopWhen: stepCountIs(3) })))
    .steps.map((step) => ({ ...answer(step), calls: step.toolCalls, results: step.toolResults })),
  toolStream: () => drain(streamText(ask('look up order A7', { tools, stopWhen: stepCountIs(3), ...quiet })).fullStream,
    ({ type, text, input, output }) => ({ type, text, input, output })),
  responses: async () => answer(await generateText({ ...ask('say hello'), model: openai.responses(model) })),
  responseStream: () => drain(streamText({ ...ask('speak in tongues', quiet), model: openai.responses(model) }).fullStream,
    ({ type, text }) => ({ type, text })),
  busy: async () => answer(await generateText(ask('be busy once'))),
  broken: async () => answer(await generateText(ask('break down', { maxRetries: 0 }))),
  malformed: async () => answer(await generateText(ask('talk nonsense'))),
  cut: () => drain(streamText(ask('cut me off', quiet)).fullStream, ({ type, text }) => ({ type, text })),
});
