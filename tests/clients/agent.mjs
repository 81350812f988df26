// An agent that depends on everything that changes from one day to the next: node agent.mjs
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const base = process.env.OPENAI_BASE_URL;
const tools = `${new URL(base).origin}/kb`;
const started = Date.now();

async function post(body) {
  for (let attempt = 0; ; ++attempt) {
    const answer = await fetch(`${base}/chat/completions`, { method: 'POST', body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' } });
    if (answer.ok) return (await answer.json()).choices[0].message;
    await answer.text();
    if (attempt === 3) throw new Error(`status ${answer.status}`);
    // Backs off, with jitter.
    await sleep(50 * 2 ** attempt + 50 * Math.random());
  }
}

const prompt = `LOOK today is ${new Date().toDateString()}, at ${new Date().toISOString()}, request ${randomUUID()}, ` +
  `draw ${Math.random()}, salt ${randomBytes(8).toString('hex')}`;
const messages = [{ role: 'user', content: prompt }];
const first = await post({ model: 'm', messages });
messages.push(first);
await sleep(120);
const results = await Promise.all(first.tool_calls.map(async (call) => {
  const at = Date.now();
  const found = await (await fetch(`${tools}/search?q=${JSON.parse(call.function.arguments).q}&at=${at}`)).text();
  return { role: 'tool', tool_call_id: call.id, content: `${found} found at ${new Date().toISOString()}` };
}));
messages.push(...results);
const last = await post({ model: 'm', messages });
console.log(JSON.stringify({ prompt, results, answer: last.content, took: Date.now() - started }, null, 1));
