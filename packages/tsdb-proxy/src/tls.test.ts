import { networkInterfaces } from 'node:os';
import { setImmediate as tick } from 'node:timers/promises';
import { rootCertificates, TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { aCall, bytesOf, failureOf, httpsStandIn, httpStandIn, proxyTo, sql } from './testing/stand-in.ts';
import { createTestAuthority } from '../../../tools/test-certificates.js';

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));
const authority = await createTestAuthority();
const other = await createTestAuthority();
const YESTERDAY = new Date(Date.now() - 86_400_000);

describe('TLS to the database', () => {
  test.each([
    ['by its authority alone', authority.cert],
    ['by one of several authorities', [...rootCertificates.slice(0, 2), authority.cert].join('\n')],
  ])('is trusted %s', async (_name, ca) => {
    const standIn = await httpsStandIn(await authority.issue(['127.0.0.1']), (request, response) => {
      response.end(request.headers.authorization);
    });
    const response = await proxyTo(standIn, { ca, token: 'abc' }).forward(aCall(), sql('select 1'));
    expect((await bytesOf(response)).toString()).toBe('Bearer abc');
  });

  test('forwards long responses complete, to slow readers too', async () => {
    const long = Buffer.from(Uint32Array.from({ length: 500_000 }, (_, i) => i * 2_654_435_761).buffer);
    const standIn = await httpsStandIn(await authority.issue(['127.0.0.1']), (_request, response) =>
      response.end(long),
    );
    const proxy = proxyTo(standIn, { ca: authority.cert });
    const answers = Array.from({ length: 3 }, async () => {
      const { chunks } = await proxy.forward(aCall(), sql('select 1'));
      let offset = 0;
      for (let chunk = await chunks?.next(); chunk?.done === false; chunk = await chunks?.next()) {
        if (offset % 5 === 0) await tick();
        expect(long.compare(chunk.value, 0, chunk.value.length, offset, offset + chunk.value.length)).toBe(0);
        offset += chunk.value.length;
      }
      return offset;
    });
    expect(await Promise.all(answers)).toEqual(Array(3).fill(long.length));
  });

  test('buffers little of a response in short records while its reader waits', { tags: ['slow'] }, async () => {
    const long = Buffer.alloc(1_000_000, 'x');
    const standIn = await httpsStandIn(await authority.issue(['127.0.0.1']), (request, response) => {
      if (request.socket instanceof TLSSocket) request.socket.setMaxSendFragment(512);
      response.end(long);
    });
    const { chunks } = await proxyTo(standIn, { ca: authority.cert }).forward(aCall(), sql('select 1'));
    const held = new Set<ArrayBufferLike>();
    let bytes = 0;
    for (let chunk = await chunks?.next(); chunk?.done === false; chunk = await chunks?.next()) {
      // Let the bytes arrive while nothing is read.
      if (bytes === 0) for (let i = 0; i < 100; i += 1) await tick();
      held.add(chunk.value.buffer);
      bytes += chunk.value.length;
    }
    expect(bytes).toBe(long.length);
    // A few large buffers besides the bytes themselves, not one for each record.
    const heldBytes = [...held].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(heldBytes - long.length).toBeLessThan(4 * 64 * 1024);
  });

  test.each([
    ['the authority is unknown', undefined, ['127.0.0.1'], {}, 'not signed by an authority'],
    ['another authority signed it', other.cert, ['127.0.0.1'], {}, 'authority'],
    ['it is for another host', authority.cert, ['db.example'], {}, 'another host name'],
    ['it has expired', authority.cert, ['127.0.0.1'], { notAfter: YESTERDAY }, 'not valid at this time'],
  ])('is not trusted if %s, and nothing is sent', async (_name, ca, names, dates, words) => {
    let arrivals = 0;
    const standIn = await httpsStandIn(await authority.issue(names, dates), (_request, response) => {
      arrivals += 1;
      response.end();
    });
    const failure = await failureOf(proxyTo(standIn, { ca, token: 's3cret' }).forward(aCall(), sql('insert')));
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining(words) });
    expect(`${failure.message} ${failure.hint}`).not.toMatch(/127\.0\.0\.1|s3cret|db\.example/);
    expect(arrivals).toBe(0);
  });
});

describe.runIf(hasIpv6)('an IPv6 address', () => {
  test('is reached over HTTP, below a path', async () => {
    const standIn = await httpStandIn(
      (request, response) => response.end(`${request.headers.host} ${request.url}`),
      '::1',
    );
    const response = await proxyTo(standIn, { url: `${standIn.url}/db` }).forward(aCall(), sql('x'));
    expect((await bytesOf(response)).toString()).toBe(`[::1]:${standIn.port} /db/exec?query=x&fmt=json`);
  });

  test('is reached over TLS', async () => {
    const standIn = await httpsStandIn(
      await authority.issue(['::1']),
      (_request, response) => response.end('ok'),
      '::1',
    );
    const response = await proxyTo(standIn, { ca: authority.cert }).forward(aCall(), sql('x'));
    expect((await bytesOf(response)).toString()).toBe('ok');
  });
});
