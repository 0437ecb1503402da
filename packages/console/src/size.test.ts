import { readdirSync, readFileSync } from 'node:fs';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const KB = 1000;
const web = new URL('../web/', import.meta.url);
const packed = readdirSync(web).filter((name) => name.endsWith('.br'));
const textOf = (name: string): Buffer => brotliDecompressSync(readFileSync(new URL(`${name}.br`, web)));
const gzipped = (name: string): number => gzipSync(textOf(name), { level: 9 }).length;
const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

const scripts = packed.map((name) => name.replace(/\.br$/, '')).filter((name) => name.endsWith('.js'));
const page = textOf('index.html').toString();

/** The scripts that the page loads at once, with what they import. */
function firstScripts(): readonly string[] {
  const found = scripts.filter((name) => page.includes(`/${name}"`));
  for (const name of found) {
    const imported = [
      ...textOf(name)
        .toString()
        .matchAll(/\b(?:from|import) ?["']\.\/([^"']+)["']/g),
    ];
    for (const [, other = ''] of imported) if (!found.includes(other)) found.push(other);
  }
  return found;
}

test('the page loads at most 40 KB of scripts before it shows rows, with gzip', () => {
  const first = firstScripts();
  expect(first.length).toBeGreaterThan(1);
  expect(sum(first.map(gzipped))).toBeLessThanOrEqual(40 * KB);
});

test('all scripts together are at most 230 KB, with gzip', () => {
  expect(sum(scripts.map(gzipped))).toBeLessThanOrEqual(230 * KB);
});

test('all files in the package are at most 230 KB, so that its tarball is below 250 KB', () => {
  expect(sum(packed.map((name) => readFileSync(new URL(name, web)).length))).toBeLessThanOrEqual(230 * KB);
});

test('the licences of the libraries are in the package', () => {
  const notices = readFileSync(new URL('NOTICES.txt', web), 'utf8');
  expect(notices).toMatch(/^preact \d.* \(MIT\)$/m);
});
