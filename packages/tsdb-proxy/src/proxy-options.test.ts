import { describe, expect, test } from 'vitest';
import { checkOptions, type TsdbProxyOptions } from './proxy-options.ts';

const url = 'http://127.0.0.1:9000';

describe('checkOptions', () => {
  test('has the documented defaults', () => {
    expect(checkOptions({ url })).toMatchObject({
      authorization: undefined,
      connectTimeoutMs: 2_000,
      timeoutMs: 60_000,
      idleTimeoutMs: 30_000,
      maxConnections: 64,
    });
  });

  test.each<[string, Partial<TsdbProxyOptions>, string]>([
    ['user and password', { user: 'admin', password: 'quest' }, 'Basic YWRtaW46cXVlc3Q='],
    ['a user alone', { user: 'admin' }, 'Basic YWRtaW46'],
    ['text beyond ASCII', { user: 'jörg', password: '€:' }, `Basic ${btoa('j\xc3\xb6rg:\xe2\x82\xac:')}`],
    ['a token', { token: 'qt1.abc-_' }, 'Bearer qt1.abc-_'],
  ])('sends %s', (_name, options, authorization) => {
    expect(checkOptions({ url, ...options }).authorization).toBe(authorization);
  });

  test.each<[string, Partial<TsdbProxyOptions>]>([
    ['no URL at all', { url: 's3cret' }],
    ['another scheme', { url: 'ftp://h' }],
    ['a query in the URL', { url: 'http://h/?s3cret=1' }],
    ['a fragment in the URL', { url: 'http://h/#s3cret' }],
    ['credentials in the URL', { url: 'http://u:s3cret@h' }],
    ['token and user', { token: 's3cret', user: 'u' }],
    ['a password without user', { password: 's3cret' }],
    ['an empty user', { user: '', password: 's3cret' }],
    ['a user with a colon', { user: 's3cret:x' }],
    ['an empty token', { token: '' }],
    ['a token with a line end', { token: 's3cret\r\nx: y' }],
    ['a token beyond ASCII', { token: 's3cret€' }],
    ['a CA that is none', { ca: 's3cret' }],
    ['an empty CA', { ca: '' }],
    ['no time at all', { timeoutMs: 0 }],
    ['a fraction', { connectTimeoutMs: 1.5 }],
    ['more than a timer can wait', { idleTimeoutMs: 2 ** 31 }],
    ['no number', { idleTimeoutMs: Number.NaN }],
    ['no connection', { maxConnections: 0 }],
  ])('refuses %s without showing a secret', (_name, options) => {
    const check = () => checkOptions({ url, ...options });
    expect(check).toThrow(expect.objectContaining({ name: 'ServiceError', code: 'invalid_argument' }));
    expect(check).not.toThrow('s3cret');
  });
});
