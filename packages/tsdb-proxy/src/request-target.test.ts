import { describe, expect, test } from 'vitest';
import { MAX_TARGET_BYTES, requestTarget } from './create-tsdb-proxy.ts';
import type { TsdbRequest } from './tsdb-proxy.ts';
import { aCall, bytesOf, httpStandIn, proxyTo } from './testing/stand-in.ts';

describe('requestTarget', () => {
  test.each([
    ['http://h:1', '/exec?query=x'],
    ['http://h:1/', '/exec?query=x'],
    ['http://h:1/db', '/db/exec?query=x'],
    ['http://h:1/a/db//', '/a/db/exec?query=x'],
  ])('below %s it is %s', (base, expected) => {
    expect(requestTarget(new URL(base), { path: '/exec', params: [['query', 'x']] })).toBe(expected);
  });

  test.each([
    ['a b', 'a%20b'],
    ['1+1', '1%2B1'],
    ["'x'&y=z#%", '%27x%27%26y%3Dz%23%25'],
    ['é€😀\n', '%C3%A9%E2%82%AC%F0%9F%98%80%0A'],
    ['', ''],
  ])('encodes %j as %s', (value, encoded) => {
    expect(target(value)).toBe(`/exec?q=${encoded}`);
  });

  test('has at most 32000 bytes, counted as they are encoded', () => {
    const room = MAX_TARGET_BYTES - '/exec?q='.length;
    expect(target('a'.repeat(room))).toHaveLength(32_000);
    expect(() => target('a'.repeat(room + 1))).toThrow(expect.objectContaining({ code: 'uri_too_long' }));
    expect(() => target(' '.repeat(20_000))).toThrow('60008 bytes');
  });

  test('a megabyte is not encoded before it is refused', () => {
    expect(() => target("'".repeat(1_000_000))).toThrow(
      expect.objectContaining({ code: 'uri_too_long', message: expect.stringContaining('more than 1000001 bytes') }),
    );
  });

  test('refuses text that is not Unicode', () => {
    expect(() => target('\ud800')).toThrow(expect.objectContaining({ name: 'ServiceError', code: 'invalid_argument' }));
  });
});

describe('on the wire', () => {
  test.each([' a  b ', "'it''s' + 100% & more=1 #2", '%41%zz', 'é€😀', '\u0000\u001f\u007f\r\n', '"<>\\^`{|}~!*()'])(
    'the database sees %j as it was sent',
    async (value) => {
      const standIn = await httpStandIn((request, response) => response.end(request.url));
      const seen = (
        await bytesOf(await proxyTo(standIn).forward(aCall(), { path: '/exec', params: [['query', value]] }))
      ).toString();
      expect(decodeURIComponent(seen.slice('/exec?query='.length))).toBe(value);
      expect(seen).not.toContain('+');
    },
  );

  test('a target of 32000 bytes arrives unchanged, and a longer one is not sent', async () => {
    let arrivals = 0;
    const standIn = await httpStandIn((request, response) => {
      arrivals += 1;
      response.end(String(request.url?.length));
    });
    const proxy = proxyTo(standIn);
    const longest = await proxy.forward(aCall(), quotes(32_000));
    expect((await bytesOf(longest)).toString()).toBe('32000');
    const longer = proxy.forward(aCall(), quotes(32_003));
    await expect(longer).rejects.toMatchObject({ code: 'uri_too_long' });
    expect(arrivals).toBe(1);
  });

  test('parameters keep their order and may repeat', async () => {
    const standIn = await httpStandIn((request, response) => response.end(request.url));
    const params = [
      ['query', 'x'],
      ['fmt', 'json'],
      ['nm', ''],
      ['query', 'y'],
    ] as const;
    const response = await proxyTo(standIn, { url: `${standIn.url}/base/` }).forward(aCall(), {
      path: '/exec',
      params,
    });
    expect((await bytesOf(response)).toString()).toBe('/base/exec?query=x&fmt=json&nm=&query=y');
  });
});

function target(value: string): string {
  return requestTarget(new URL('http://h'), { path: '/exec', params: [['q', value]] });
}

/** A request with the given encoded length, made of quotes, which a URL parser would encode again. */
function quotes(bytes: number): TsdbRequest {
  return { path: '/exec', params: [['q', "'".repeat((bytes - '/exec?q='.length) / 3)]] };
}
