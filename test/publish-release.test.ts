import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../tools/publish-release.js', import.meta.url));
let folder: string;

/** A program that writes its words to a file, and answers for what npm or GitHub knows. */
function standIn(name: string, known: string): void {
  const file = join(folder, 'bin', name);
  const lines = ['#!/bin/sh', `echo ${name} "$@" >> "${folder}/calls"`, `case "$1 $2" in`, known, 'esac', ''];
  writeFileSync(file, lines.join('\n'));
  chmodSync(file, 0o755);
}

function packed(name: string, version: string): void {
  mkdirSync(join(folder, 'package'), { recursive: true });
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ name, version }));
  execFileSync('tar', ['-czf', join(folder, 'release', `${name.slice(5)}.tgz`), '-C', folder, 'package']);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-publish-'));
  for (const name of ['bin', 'release']) mkdirSync(join(folder, name));
  standIn('npm', '"view @svc/errors@0.1.0") echo 0.1.0 ;;');
  standIn('gh', '"release view") test "$3" = @svc/errors@0.1.0 ;;');
});

afterEach(() => rmSync(folder, { recursive: true }));

function publish(): { readonly stdout: string; readonly calls: string; readonly output: string } {
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    GITHUB_SHA: 'abc',
    GITHUB_OUTPUT: join(folder, 'output'),
  };
  const { stdout, stderr } = spawnSync(process.execPath, [script, join(folder, 'release')], { env, encoding: 'utf8' });
  expect(stderr).toBe('');
  return {
    stdout,
    calls: readFileSync(join(folder, 'calls'), 'utf8'),
    output: readFileSync(join(folder, 'output'), 'utf8'),
  };
}

test('the release publishes the packed files that npm does not have, and says what changed', () => {
  packed('@svc/errors', '0.1.0');
  packed('@svc/server', '0.1.0');
  const { stdout, calls, output } = publish();
  expect(stdout).toBe('Published: 1, released on GitHub: 1.\n');
  expect(output).toBe('published=true\n');
  const [seen, shown, unseen, published, hidden, release] = calls.split('\n');
  expect([seen, shown]).toEqual(['npm view @svc/errors@0.1.0 version', 'gh release view @svc/errors@0.1.0']);
  expect([unseen, hidden]).toEqual(['npm view @svc/server@0.1.0 version', 'gh release view @svc/server@0.1.0']);
  expect(published).toBe(
    `npm publish ${join(folder, 'release/server.tgz')} --access=public --provenance --ignore-scripts`,
  );
  expect(release).toBe('gh release create @svc/server@0.1.0 --title @svc/server@0.1.0 --notes ### Minor Changes');
  expect(calls).toMatch(/- First release: [^]* --target abc\n$/);
});

test('a version that npm has but GitHub does not, as after a failed run, gets its release only', () => {
  standIn('gh', '"release view") false ;;');
  packed('@svc/errors', '0.1.0');
  const { stdout, calls, output } = publish();
  expect(stdout).toBe('Published: 0, released on GitHub: 1.\n');
  expect(output).toBe('published=true\n');
  expect(calls).toContain('\ngh release create @svc/errors@0.1.0 --title @svc/errors@0.1.0 --notes ');
  expect(calls).not.toContain('npm publish');
});

test('a version that GitHub has but npm does not is published only', () => {
  standIn('npm', '');
  packed('@svc/errors', '0.1.0');
  const { stdout, calls, output } = publish();
  expect(stdout).toBe('Published: 1, released on GitHub: 0.\n');
  expect(output).toBe('published=true\n');
  expect(calls).not.toContain('gh release create');
});

test('a release of versions that npm and GitHub have does nothing', () => {
  packed('@svc/errors', '0.1.0');
  expect(publish()).toEqual({
    stdout: 'Published: 0, released on GitHub: 0.\n',
    calls: 'npm view @svc/errors@0.1.0 version\ngh release view @svc/errors@0.1.0\n',
    output: 'published=false\n',
  });
});
