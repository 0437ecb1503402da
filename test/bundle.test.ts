import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const LOADED = /\b(?:import|require|__require)\("([^"\s]+)"\)/g;
const STARTED = /new URL\("\.\/(run-[^"]+)", /g;

describe.each([
  ['server', '../apps/server/'],
  ['svc', '../apps/cli/'],
])('the bundle of %s', (name, path) => {
  const app = fileURLToPath(new URL(path, import.meta.url));
  const folder = join(app, 'bundle');
  const files = readdirSync(folder).filter((file) => file.endsWith('.cjs'));
  const matches = (pattern: RegExp): string[] =>
    files.flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(pattern)].map(([, specifier]) => specifier),
    );

  test('loads nothing but Node, itself and the native engine', () => {
    const foreign = matches(LOADED).filter(
      (specifier) =>
        !specifier.startsWith('node:') && !isBuiltin(specifier) && !files.includes(specifier.replace('./', '')),
    );
    expect(new Set(foreign)).toEqual(new Set(['@duckdb/node-bindings']));
  });

  test('is installed with what it loads, and with nothing else unless the package can be imported', () => {
    const { dependencies, exports } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
    expect(Object.keys(dependencies)).toContain('@duckdb/node-bindings');
    if (exports['.'] === undefined) expect(Object.keys(dependencies)).toEqual(['@duckdb/node-bindings']);
  });

  test('holds the programs that it starts', () => {
    const programs = ['run-child.cjs', 'run-decode-worker.cjs', 'run-encode-worker.cjs'];
    expect(new Set(matches(STARTED))).toEqual(new Set(programs));
    expect(files).toEqual(expect.arrayContaining(programs));
  });

  test('comes with the licences of what is in it', () => {
    const licences = readFileSync(join(folder, 'NOTICES.txt'), 'utf8');
    for (const packageName of ['apache-arrow', '@duckdb/node-api', '@grpc/grpc-js', 'hono', 'valibot']) {
      expect(licences).toMatch(new RegExp(`^${packageName} \\d.* \\(\\S+\\)\\n\\n\\S`, 'm'));
    }
  });

  test('has compiled code of each of its files, which Node takes', () => {
    const refused = `
      const { readFileSync } = require('node:fs');
      const { compile, codeFileOf } = require('./load.cjs');
      const isRefused = (file) => compile(file, readFileSync(codeFileOf(file))).cachedDataRejected;
      console.log(JSON.stringify(process.argv.slice(1).filter(isRefused)));`;
    const compiled = files.filter((file) => file !== 'load.cjs' && !file.startsWith('run-'));
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', refused, ...compiled], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: '[]\n', stderr: '' });
  });

  test.each([
    ['is missing', (file: string) => rmSync(file)],
    ['was cut short', (file: string) => truncateSync(file, 1000)],
    ['is something else', (file: string) => writeFileSync(file, 'no code')],
  ])('runs all the same where compiled code %s', (_what, spoil) => {
    const copy = mkdtempSync(join(tmpdir(), 'svc-bundle-'));
    try {
      for (const part of ['bin', 'bundle', 'package.json'])
        cpSync(join(app, part), join(copy, part), { recursive: true });
      const code = readdirSync(join(copy, 'bundle')).filter((file) => file.endsWith('.code'));
      for (const file of code) spoil(join(copy, 'bundle', file));
      const { stdout, stderr } = spawnSync(process.execPath, [join(copy, 'bin', `${name}.js`), '--version'], {
        encoding: 'utf8',
      });
      expect(stderr).toBe('');
      expect(stdout).toMatch(/\d+\.\d+\.\d+/);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});
