// A provider over TLS, which speaks HTTP/2 to those who do: node upstream.mjs CERTIFICATE KEY 1|2. Prints its port.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http2 from 'node:http2';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

const [certificate, key, version] = process.argv.slice(2);
const options = { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) };
let connections = 0;
let answers = 0;

const message = (content) => ({ id: `chatcmpl-${++answers}`, object: 'chat.completion', model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }] });

async function stream(response, cut) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [i, word] of ['caf', 'é ', '🌍'].entries()) {
    const bytes = Buffer.from(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm',
      choices: [{ index: 0, delta: { content: word } }] })}\n\n`);
    const middle = bytes.length - 7;  // Inside of a character.
    response.write(bytes.subarray(0, middle));
    await sleep(20);
    response.write(bytes.subarray(middle));
    if (cut && i === 1) {
      await sleep(20);
      return response.stream ? response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR) : response.socket.destroy();
    }
  }
  response.end('data: [DONE]\n\n');
}

async function answer(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const asked = JSON.parse(body);
  const text = asked.messages[0].content;
  if (asked.stream) return stream(response, text === 'cut me off');
  // What a client sends over which connection is the server's to tell.
  const said = text === 'count' ? `${connections} connections, HTTP/${request.httpVersion}`
    : createHash('sha256').update(body).digest('hex');
  const packed = gzipSync(JSON.stringify(message(said)));
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip',
    'content-length': packed.length });
  response.write(packed);
  // Over HTTP/2 the end comes by itself, and this client has left by then with all that it asked for.
  if (text === 'hello') await sleep(200);
  response.end();
}

const server = version === '2' ? http2.createSecureServer({ ...options, allowHTTP1: true }, answer)
  : https.createServer(options, answer);
server.on('secureConnection', () => ++connections);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
