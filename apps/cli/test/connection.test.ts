// How a server is reached, or not, and how long svc waits for it.
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { connectionError } from '../src/client/request-errors.ts';
import { run } from './run.ts';
import { bodyOf, sendJson, startRawStandIn, startStandIn, unusedUrl } from './stand-in.ts';

describe('ping', () => {
  test('prints ok, from the URL of the flag, else of SVC_URL, under its base path', async () => {
    const { url, requests } = await startStandIn((_, response) => response.end('ok'));
    expect(await run(['ping'], { env: { SVC_URL: `${url}/data/` } })).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^ok \(\d+\.\d ms\)\n$/),
      stderr: '',
    });
    await run(['ping', '--url', url], { env: { SVC_URL: 'http://nowhere.invalid' } });
    expect(requests).toEqual(['GET /data/ping', 'GET /ping']);
  });

  test('does not accept any 200 as a data-frame server', async () => {
    const { url } = await startStandIn((_, response) => response.end('<html>'));
    expect(await run(['ping', '--url', url])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('error: Cannot read the response: it is "<html>", not "ok".\nhint: '),
    });
  });

  test('times out if the server never answers, or never ends its response', async () => {
    const silent = await startStandIn(() => {});
    const { code, stdout, stderr } = await run(['ping', '--timeout', '0.05', '--url', silent.url]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toBe(
      `error: The request to ${silent.url} failed: the server did not answer within 0.05 s.\n` +
        'hint: Wait longer with --timeout <seconds>, or check whether the server is busy.\n',
    );
    const slow = await startStandIn((_, response) => void response.writeHead(200).write('o'));
    expect(await run(['ping', '--timeout', '0.2', '--url', slow.url])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('the server did not answer within 0.2 s.'),
    });
  });

  test('reports missing TLS in one sentence, with the URL to use', async () => {
    const { url } = await startStandIn((_, response) => response.end('ok'));
    const secure = url.replace('http:', 'https:');
    expect(await run(['ping', '--url', secure])).toEqual({
      code: 3,
      stdout: '',
      stderr:
        `error: The server ${secure} cannot be reached: its response is not TLS.\n` +
        `hint: Write ${url} if it speaks plain HTTP.\n`,
    });
  });

  test('reports once that nothing listens there, without a retry', async () => {
    const url = await unusedUrl();
    const { code, stderr } = await run(['ping', '--url', url]);
    expect(code).toBe(3);
    expect(stderr).toBe(
      `error: The server ${url} cannot be reached: nothing listens there.\n` +
        'hint: Start one with svc serve, or name another with --url or SVC_URL.\n',
    );
  });
});

test.each([
  ['http://127.0.0.1:1', 'The request to http://127.0.0.1:1 failed: HTTP clients refuse to use this port.'],
  ['http://nowhere.invalid', 'The server http://nowhere.invalid cannot be reached: the host name'],
])('ping of %s says what is wrong and ends with 3', async (url, message) => {
  expect(await run(['ping', '--url', url])).toMatchObject({ code: 3, stderr: expect.stringContaining(message) });
});

test.each([
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'cannot be reached: the TLS handshake failed (ERR_SSL_TLSV13_'],
  ['EPROTO', 'cannot be reached: the TLS handshake failed (EPROTO).'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is not trusted: its certificate is self-signed.'],
  ['CERT_HAS_EXPIRED', 'is not trusted: its certificate has expired.'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is not trusted: its certificate is for another host name.'],
])('%s is a sentence without the wording of OpenSSL', (code, message) => {
  const cause = Object.assign(new Error('00E:error:0A000:SSL routines:ssl3_get_record:../deps/openssl'), { code });
  const error = connectionError(new TypeError('fetch failed', { cause }), { url: 'https://h', isAction: true });
  expect(error).toMatchObject({ exitCode: 3, message: expect.stringContaining(`The server https://h ${message}`) });
  expect(error.message + error.hint).not.toContain('openssl');
});

test('ping of something that does not speak HTTP says so', async () => {
  const url = await startRawStandIn('SSH-2.0-OpenSSH_9.2\r\n');
  expect(await run(['ping', '--url', url])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('failed: its response is not HTTP.'),
  });
});

describe('--timeout', () => {
  test.each([
    [['list'], 'Wait longer with --timeout <seconds>, or check whether the server is busy.'],
    [['describe', 't'], 'Wait longer with --timeout <seconds>, or check whether the server is busy.'],
    [['get', 't', '--csv'], 'Wait longer with --timeout <seconds>, or check whether the server is busy.'],
    [['drop', 't'], 'It may have taken effect: check before you repeat it.'],
    [['query', 'x'], 'It may have taken effect: check before you repeat it.'],
    [['put', 't', '-', '--fmt', 'json'], 'It may have taken effect: check before you repeat it.'],
  ])('ends svc %j where no answer begins', async (argv, hint) => {
    const { url } = await startStandIn((request) => request.resume());
    expect(await run([...argv, '--timeout', '0.05', '--url', url], { stdin: '[]' })).toEqual({
      code: 3,
      stdout: '',
      stderr: `error: The request to ${url} failed: the server did not answer within 0.05 s.\nhint: ${hint}\n`,
    });
  });

  test('does not cover the rows after the head of a response, nor an upload', { tags: ['slow'] }, async () => {
    const { url } = await startStandIn(async (request, response) => {
      if (request.method === 'PUT')
        return sendJson(response, { rows: (await bodyOf(request)).length, version: 'v' }, 201);
      response.writeHead(200, { 'content-type': 'text/csv' }).write('id\r\n');
      return setTimeout(() => response.end('1\r\n'), 1200);
    });
    const slowly = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('[');
      await new Promise((resolve) => setTimeout(resolve, 1200));
      yield Buffer.from(']');
    };
    const argv = ['--timeout', '1', '--url', url];
    expect(await run(['get', 't', '--csv', ...argv])).toEqual({ code: 0, stdout: 'id\r\n1\r\n', stderr: '' });
    expect(await run(['put', 't', '-', '--fmt', 'json', ...argv], { stdin: slowly() })).toMatchObject({
      code: 0,
      stdout: 't: 2 rows, version v (new)\n',
    });
  });

  test.each(['0', '-1', '301', '1e2', '', 'soon', '0.0001'])('of %j seconds is wrong usage', async (value) => {
    expect(await run(['ping', `--timeout=${value}`])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        `error: --timeout "${value}" is not a number of seconds above 0 and up to 300.\n` +
        'hint: Write --timeout 10, or --timeout 0.5 for half a second.\n',
    });
  });
});

describe('a busy server', () => {
  const refuse = (response: ServerResponse, status: number, seconds: string): void => {
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': seconds });
    response.end(JSON.stringify({ error: 'Too many requests.', code: 'too_many_requests', hint: 'Wait.' }));
  };

  test('gets a read again when it asks for that, at most twice', async () => {
    const statuses = [429, 503];
    const { url, requests } = await startStandIn((_, response) => {
      const status = statuses.shift();
      if (status === undefined) sendJson(response, { frames: [] });
      else refuse(response, status, '0');
    });
    expect(await run(['list', '--json', '--url', url])).toEqual({ code: 0, stdout: '{"frames":[]}\n', stderr: '' });
    expect(requests.length).toBe(3);
    statuses.push(429, 429, 429);
    expect(await run(['list', '--url', url])).toMatchObject({ code: 1, stdout: '' });
    expect(requests.length).toBe(6);
  });

  test('that asks for a long wait, or for none, gets a read once', async () => {
    for (const headers of [{ 'retry-after': '60' }, {}]) {
      const { url, requests } = await startStandIn((_, response) => {
        response.writeHead(503, headers).end('{"error":"Not now."}');
      });
      expect(await run(['list', '--url', url])).toMatchObject({ code: 1, stderr: 'error: Not now.\n' });
      expect(requests.length).toBe(1);
    }
  });

  test('that asks for a wait beyond --timeout gets a read once, and the user its refusal', async () => {
    const { url, requests } = await startStandIn((_, response) => refuse(response, 429, '1'));
    expect(await run(['list', '--timeout', '0.5', '--url', url])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error: Too many requests.\n'),
    });
    expect(requests.length).toBe(1);
  });

  test.each([
    ['drop', 't'],
    ['query', 'x'],
    ['put', 't', '-', '--fmt', 'json'],
  ])('gets svc %s %s only once: it may change something', async (...argv) => {
    const { url, requests } = await startStandIn((request, response) => {
      request.resume().on('end', () => refuse(response, 429, '0'));
    });
    expect(await run([...argv, '--url', url], { stdin: '[]' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error: Too many requests.\n'),
    });
    expect(requests.length).toBe(1);
  });
});

test('a request asks caches for no stored response', async () => {
  let asked: unknown;
  const { url } = await startStandIn((request, response) => {
    asked = request.headers['cache-control'];
    response.end('ok');
  });
  expect(await run(['ping', '--url', url])).toMatchObject({ code: 0 });
  expect(asked).toBe('no-cache');
});

test('a response ends with its signal, even if its source ignores the signal', async () => {
  let isGivenUp = false;
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1)),
    cancel: () => void (isGivenUp = true),
  });
  const client = createClient({
    url: 'http://directory.invalid',
    signal: new AbortController().signal,
    errorWidth: 80,
    fetch: () => Promise.resolve(new Response(endless)),
  });
  const controller = new AbortController();
  const { body } = await client.send({ method: 'GET', path: 'exp', isLong: true, signal: controller.signal });
  await expect(async () => {
    for await (const chunk of body) if (chunk.length > 0) controller.abort();
  }).rejects.toThrow('The connection broke before the response was complete');
  expect(isGivenUp).toBe(true);
});
