import { describe, expect, test } from 'vitest';
import { acceptsGzip } from './compress.ts';

describe('acceptsGzip', () => {
  test.each<[header: string | undefined, accepts: boolean]>([
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['GZIP', true],
    ['br, gzip;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000', false],
    ['gzip;q=0.001', true],
    ['*', true],
    ['*;q=0', false],
    ['gzip;q=0, *', false],
    ['identity', false],
    ['x-gzip-like', false],
  ])('%s: %s', (header, accepts) => {
    expect(acceptsGzip(header)).toBe(accepts);
  });
});
