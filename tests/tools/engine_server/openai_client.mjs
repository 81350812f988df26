// What the official client of OpenAI's API sees of two served models, one of random weights and one
// with a script: node openai_client.mjs RANDOM_URL SCRIPTED_URL
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const [randomUrl, scriptedUrl] = process.argv.slice(2);
const random = new OpenAI({ baseURL: randomUrl, apiKey: 'none', maxRetries: 0 });
const scripted = new OpenAI({ baseURL: scriptedUrl, apiKey: 'none', maxRetries: 0 });
const user = (content) => [{ role: 'user', content }];
const hello = { model: 'random', messages: user('hello'), max_tokens: 12, seed: 7 };
const tools = [{ type: 'function', function: { name: 'lookup_order', description: 'An order.',
  parameters: { type: 'object', properties: { order_id: { type: 'string' } } } } }];
const order = { model: 'scripted', messages: user('where is A-1042?'), tools };

async function refused(promise, kind, status, param, code) {
  const error = await promise.then(() => assert.fail('was not refused'), (e) => e);
  assert.ok(error instanceof kind, `${error}`);
  assert.deepEqual([error.status, error.param ?? null, error.code ?? null], [status, param, code], error.message);
  return error;
}

const tests = {
  async models() {
    const list = [];
    for await (const model of random.models.list()) list.push(model.id);
    assert.deepEqual(list, ['random']);
    assert.equal((await random.models.retrieve('random')).owned_by, 'reenact');
    await refused(random.models.retrieve('other'), OpenAI.NotFoundError, 404, 'model', 'model_not_found');
  },

  async 'a seed gives the same answer again, and another seed another'() {
    const [a, b, c] = [await random.chat.completions.create(hello), await random.chat.completions.create(hello),
      await random.chat.completions.create({ ...hello, seed: 8 })];
    assert.equal(a.choices[0].message.content, b.choices[0].message.content);
    assert.notEqual(a.choices[0].message.content, c.choices[0].message.content);
    assert.match(a.system_fingerprint, /^n1-[0-9a-f]{16}$/);
    assert.equal(a.usage.total_tokens, a.usage.prompt_tokens + a.usage.completion_tokens);
    assert.ok(a.usage.completion_tokens > 0 && a.usage.completion_tokens <= 12);
    const generated = await random.chat.completions.create({ ...hello, seed: undefined });
    const again = await random.chat.completions.create({ ...hello, seed: generated.seed });
    assert.equal(generated.choices[0].message.content, again.choices[0].message.content);
  },

  async 'a stream holds what the whole answer holds'() {
    const request = { ...hello, logprobs: true, top_logprobs: 3, n: 2, return_token_ids: true };
    const whole = await random.chat.completions.create(request);
    const stream = await random.chat.completions.create({ ...request, stream: true,
      stream_options: { include_usage: true } });
    const seen = [0, 1].map(() => ({ content: '', logprobs: [], ids: [], finish: null }));
    let usage = null;
    for await (const chunk of stream) {
      assert.equal(chunk.system_fingerprint, whole.system_fingerprint);
      usage = chunk.usage ?? usage;
      for (const choice of chunk.choices) {
        const sample = seen[choice.index];
        sample.content += choice.delta.content ?? '';
        sample.logprobs.push(...(choice.logprobs?.content ?? []));
        sample.ids.push(...(choice.token_ids ?? []));
        sample.finish = choice.finish_reason ?? sample.finish;
      }
    }
    whole.choices.forEach((choice, i) => {
      assert.deepEqual(seen[i], { content: choice.message.content, logprobs: choice.logprobs.content,
        ids: choice.token_ids, finish: choice.finish_reason });
    });
    assert.notEqual(seen[0].content, seen[1].content);
    assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
    assert.equal(whole.prompt_token_ids.length, whole.usage.prompt_tokens);
  },

  async 'logprobs are binary32, their bytes are the text'() {
    const { choices: [choice] } = await random.chat.completions.create({ ...hello, logprobs: true, top_logprobs: 2 });
    const bytes = choice.logprobs.content.flatMap((token) => token.bytes);
    assert.equal(new TextDecoder().decode(new Uint8Array(bytes)), choice.message.content);
    for (const token of choice.logprobs.content) {
      assert.equal(Math.fround(token.logprob), token.logprob);
      assert.equal(token.top_logprobs.length, 2);
      assert.ok(token.top_logprobs[0].logprob >= token.top_logprobs[1].logprob);
    }
    const without = await random.chat.completions.create(hello);
    assert.equal(without.choices[0].logprobs, null);
    assert.equal(without.choices[0].message.content, choice.message.content);
  },

  async 'stop texts, biases and penalties'() {
    const seven = await random.chat.completions.create({ ...hello, temperature: 0, logit_bias: { 55: 100 } });
    assert.equal(seven.choices[0].message.content, '7'.repeat(12));
    assert.equal(seven.choices[0].finish_reason, 'length');
    const stopped = await random.chat.completions.create({ ...hello, logit_bias: { 55: 100 }, stop: ['777'] });
    assert.equal(stopped.choices[0].message.content, '');
    assert.equal(stopped.choices[0].finish_reason, 'stop');
    assert.equal(stopped.usage.completion_tokens, 3);
    const varied = await random.chat.completions.create({ ...hello, temperature: 0, logit_bias: { 55: 3 }, frequency_penalty: 2 });
    assert.notEqual(varied.choices[0].message.content, '7'.repeat(12));
    const ended = await random.chat.completions.create({ ...hello, logit_bias: { 260: 100 }, logprobs: true });
    assert.deepEqual([ended.choices[0].message.content, ended.choices[0].finish_reason], ['', 'stop']);
    assert.deepEqual(ended.choices[0].logprobs.content, []);
  },

  async 'a conversation with a tool'() {
    const first = await scripted.chat.completions.create(order);
    const message = first.choices[0].message;
    assert.equal(first.choices[0].finish_reason, 'tool_calls');
    assert.equal(message.content, 'I will look.');
    assert.deepEqual(message.tool_calls.map((call) => call.function),
      [{ name: 'lookup_order', arguments: '{"order_id":"A-1042","limit":9007199254740993}' }]);
    const again = await scripted.chat.completions.create(order);
    assert.equal(again.choices[0].message.tool_calls[0].id, message.tool_calls[0].id);
    const second = await scripted.chat.completions.create({ ...order, messages: [...order.messages, message,
      { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '{"total": 120}' }] });
    assert.equal(second.choices[0].message.content, 'Your refund is 120 EUR.');
    assert.equal(second.choices[0].finish_reason, 'stop');
    assert.equal(second.choices[0].message.tool_calls, undefined);
    const none = await scripted.chat.completions.create({ ...order, tool_choice: 'none' });
    assert.match(none.choices[0].message.content, /<tool_call>/);
    assert.equal(none.choices[0].finish_reason, 'stop');
  },

  async 'a streamed tool call, as the accumulator of the client puts it together'() {
    const whole = await scripted.chat.completions.create(order);
    const final = await scripted.chat.completions.stream({ ...order, logprobs: true }).finalChatCompletion();
    assert.equal(final.choices[0].finish_reason, 'tool_calls');
    assert.equal(final.choices[0].message.content, 'I will look.');
    const [{ id, function: { name, arguments: text } }] = final.choices[0].message.tool_calls;
    const [expected] = whole.choices[0].message.tool_calls;
    assert.deepEqual([id, name, text], [expected.id, expected.function.name, expected.function.arguments]);
    assert.equal(final.choices[0].logprobs.content.length, 8);
  },

  async 'a call that tool_choice forces'() {
    const strict = structuredClone(tools);
    Object.assign(strict[0].function, { strict: true, parameters: { type: 'object', properties: {
      order_id: { enum: ['A-1042', 'B-7'] }, limit: { type: 'integer' } }, required: ['order_id', 'limit'],
      additionalProperties: false } });
    const other = { type: 'function', function: { name: 'wait' } };
    const request = { ...hello, model: 'random', tools: [other, ...strict], max_tokens: 300 };
    const named = { type: 'function', function: { name: 'lookup_order' } };
    const ids = new Set();
    for (const tool_choice of [named, named, 'required']) {
      const forced = { ...request, tool_choice, tools: tool_choice === 'required' ? strict : request.tools };
      const { choices: [choice] } = await random.chat.completions.create(forced);
      assert.equal(choice.finish_reason, 'tool_calls', JSON.stringify(choice));
      const [{ id, function: { name, arguments: text } }] = choice.message.tool_calls;
      assert.equal(name, 'lookup_order');
      const { order_id: order, limit } = JSON.parse(text);
      assert.ok(['A-1042', 'B-7'].includes(order) && Number.isInteger(limit), text);
      ids.add(id);
    }
    assert.equal(ids.size, 2);  // One prompt and seed, one call; `required` had other tools in its prompt.
    const stream = await random.chat.completions.stream({ ...request, tool_choice: named }).finalChatCompletion();
    assert.ok(ids.has(stream.choices[0].message.tool_calls[0].id));
  },

  async 'an answer that is JSON'() {
    const schema = { type: 'object', properties: { why: { enum: ['late', 'broken'] },
      amounts: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 3 } },
      required: ['why', 'amounts'], additionalProperties: false };
    const request = { ...hello, max_tokens: 300, n: 4,
      response_format: { type: 'json_schema', json_schema: { name: 'refund', strict: true, schema } } };
    const whole = await random.chat.completions.create(request);
    for (const choice of whole.choices) {
      assert.equal(choice.finish_reason, 'stop');
      const answer = JSON.parse(choice.message.content);
      assert.deepEqual(Object.keys(answer), ['why', 'amounts']);
      assert.ok(answer.amounts.length >= 2 && answer.amounts.every(Number.isInteger));
    }
    const parsed = await random.chat.completions.parse({ ...request, n: 1 });
    assert.deepEqual(parsed.choices[0].message.parsed, JSON.parse(whole.choices[0].message.content));
    // A model of random weights closes strings and objects only where it is pushed.
    const any = await random.chat.completions.create({ ...hello, max_tokens: 800, response_format: { type: 'json_object' },
      logit_bias: { 34: 4, 125: 6, 123: -100, 91: -100 } });
    assert.equal(typeof JSON.parse(any.choices[0].message.content), 'object');
  },

  async 'the logprobs of a prompt, as evaluations ask for them'() {
    const prompt = 'so it is hello';
    const scored = await random.completions.create({ model: 'random', prompt, echo: true, logprobs: 2, max_tokens: 0 });
    const [{ text, logprobs, finish_reason: finish }] = scored.choices;
    assert.deepEqual([text, finish], [prompt, 'length']);
    assert.equal(logprobs.tokens.join(''), prompt);
    assert.equal(scored.usage.completion_tokens, 0);
    assert.deepEqual([logprobs.token_logprobs[0], logprobs.top_logprobs[0]], [null, null]);
    assert.ok(logprobs.token_logprobs.slice(1).every((value) => value < 0 && Math.fround(value) === value));
    assert.deepEqual(logprobs.text_offset, logprobs.tokens.map((_, i) => logprobs.tokens.slice(0, i).join('').length));
    const more = await random.completions.create({ model: 'random', prompt, echo: true, logprobs: 2, max_tokens: 3, seed: 5 });
    const without = await random.completions.create({ model: 'random', prompt, logprobs: 2, max_tokens: 3, seed: 5 });
    assert.equal(more.choices[0].text, prompt + without.choices[0].text);
    assert.deepEqual(more.choices[0].logprobs.token_logprobs,
      [...logprobs.token_logprobs, ...without.choices[0].logprobs.token_logprobs]);
    const offsets = without.choices[0].logprobs.text_offset.map((offset) => offset + prompt.length);
    assert.deepEqual(more.choices[0].logprobs.text_offset.slice(logprobs.tokens.length), offsets);
    const [{ text: ofIds }] = (await random.completions.create({ model: 'random', prompt: [104, 259], echo: true,
      max_tokens: 0 })).choices;
    assert.equal(ofIds, 'hhello');
  },

  async 'the loop of the client that runs tools'() {
    const asked = [];
    const runner = scripted.chat.completions.runTools({ model: 'scripted', messages: order.messages, tools: [
      { type: 'function', function: { name: 'lookup_order', parse: JSON.parse, parameters: { type: 'object' },
        function: (args) => { asked.push(args.order_id); return { total: 120 }; } } }] });
    assert.equal(await runner.finalContent(), 'Your refund is 120 EUR.');
    assert.deepEqual(asked, ['A-1042']);
  },

  async completions() {
    const request = { model: 'random', prompt: 'hello', max_tokens: 6, seed: 3, logprobs: 2 };
    const whole = await random.completions.create(request);
    assert.equal(whole.choices[0].logprobs.tokens.length, whole.choices[0].logprobs.token_logprobs.length);
    const ids = await random.completions.create({ ...request, prompt: [259] });
    assert.equal(ids.choices[0].text, whole.choices[0].text);
    let text = '';
    for await (const chunk of await random.completions.create({ ...request, stream: true })) text += chunk.choices[0].text;
    assert.equal(text, whole.choices[0].text);
  },

  async errors() {
    const chat = (change) => random.chat.completions.create({ ...hello, ...change });
    const bad = OpenAI.BadRequestError;
    await refused(chat({ model: 'gpt-4o' }), OpenAI.NotFoundError, 404, 'model', 'model_not_found');
    await refused(chat({ messages: [] }), bad, 400, 'messages', null);
    await refused(chat({ messages: user('hello'.repeat(2000)) }), bad, 400, 'messages', 'context_length_exceeded');
    await refused(chat({ max_tokens: 100000 }), bad, 400, 'messages', 'context_length_exceeded');
    await refused(chat({ messages: [{ role: 'oracle', content: '' }] }), bad, 400, 'messages', null);
    await refused(chat({ temperature: 3 }), bad, 400, 'temperature', null);
    await refused(chat({ n: 0 }), bad, 400, 'n', null);
    await refused(chat({ top_logprobs: 3 }), bad, 400, 'top_logprobs', null);
    await refused(chat({ tool_choice: 'required' }), bad, 400, 'tool_choice', null);
    await refused(chat({ response_format: { type: 'grammar' } }), bad, 400, 'response_format', 'unsupported_value');
    await refused(chat({ response_format: { type: 'json_schema', json_schema: { name: 'n',
      schema: { type: 'string', pattern: 'a' } } } }), bad, 400, 'response_format', 'unsupported_value');
    await refused(chat({ tempreature: 1 }), bad, 400, 'tempreature', 'unknown_parameter');
    await refused(chat({ logit_bias: { 999999: 1 } }), bad, 400, null, null);
    const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:' } }] }];
    await refused(chat({ messages: image }), bad, 400, 'messages[0].content', null);
    const error = await refused(chat({ stream: true, seed: 'x' }), bad, 400, 'seed', null);
    assert.match(error.requestID, /^req_/);
    await refused(random.embeddings.create({ model: 'random', input: 'x' }), OpenAI.NotFoundError, 404, null, 'unknown_url');
  },

  async 'parts of text, developer messages and what changes nothing'() {
    const plain = await random.chat.completions.create({ ...hello, messages: [{ role: 'system', content: 'Be.' },
      ...user('he\nllo')] });
    const other = await random.chat.completions.create({ ...hello, user: 'me', metadata: { a: 'b' }, store: false,
      messages: [{ role: 'developer', content: 'Be.' },
        { role: 'user', content: [{ type: 'text', text: 'he' }, { type: 'text', text: 'llo' }] }] });
    assert.equal(other.choices[0].message.content, plain.choices[0].message.content);
  },

  async 'an aborted request leaves the others as they are'() {
    const long = { ...hello, max_tokens: 900, logit_bias: { 260: -100 } };
    const alone = await random.chat.completions.create(long);
    const stream = await random.chat.completions.create({ ...long, stream: true });
    const beside = random.chat.completions.create(long);
    for await (const chunk of stream) {
      if (chunk.choices[0].delta.content) break;  // Leaving the loop aborts the request.
    }
    const controller = new AbortController();
    const aborted = random.chat.completions.create(long, { signal: controller.signal });
    controller.abort();
    await assert.rejects(aborted, OpenAI.APIUserAbortError);
    assert.equal((await beside).choices[0].message.content, alone.choices[0].message.content);
  },

  async 'in any company, one answer'() {
    const requests = [];
    for (let i = 0; i < 24; ++i) {
      requests.push(random.chat.completions.create({ ...hello, logprobs: true }));
      requests.push(random.chat.completions.create({ ...hello, messages: user('x'.repeat(20 * i)), seed: i }));
    }
    const answers = await Promise.all(requests);
    const same = answers.filter((_, i) => i % 2 === 0).map((answer) => JSON.stringify(answer.choices));
    assert.equal(new Set(same).size, 1);
  },
};

let failures = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
  } catch (error) {
    ++failures;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
console.log(`${Object.keys(tests).length} tests with openai ${(await import('openai/version')).VERSION}, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
