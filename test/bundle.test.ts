import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const LOADED = /(?:\bfrom |\bimport |\bimport\(|__require\()"([^"\s]+)"/g;
const STARTED = /new URL\("([^"]+\.js)", import\.meta\.url\)/g;

describe.each([
  ['server', '../apps/server/bundle'],
  ['svc', '../apps/cli/bundle'],
])('the bundle of %s', (_name, path) => {
  const folder = fileURLToPath(new URL(path, import.meta.url));
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'));
  const matches = (pattern: RegExp): string[] =>
    files.flatMap((file) =>
      [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(pattern)].map(([, specifier]) => specifier),
    );

  test('loads nothing but Node, itself and the native engine', () => {
    const foreign = matches(LOADED).filter(
      (specifier) =>
        !specifier.startsWith('node:') && !isBuiltin(specifier) && !files.includes(specifier.replace('./', '')),
    );
    expect(new Set(foreign)).toEqual(new Set(['@duckdb/node-bindings']));
  });

  test('holds the programs that it starts', () => {
    expect(new Set(matches(STARTED))).toEqual(new Set(['child.js', 'decode-worker.js']));
    expect(files).toEqual(expect.arrayContaining(['child.js', 'decode-worker.js']));
  });

  test('comes with the licences of what is in it', () => {
    const licences = readFileSync(`${folder}/NOTICES.txt`, 'utf8');
    for (const name of ['apache-arrow', '@duckdb/node-api', '@grpc/grpc-js', 'hono', 'valibot']) {
      expect(licences).toMatch(new RegExp(`^${name} \\d.* \\(\\S+\\)\\n\\n\\S`, 'm'));
    }
  });
});
