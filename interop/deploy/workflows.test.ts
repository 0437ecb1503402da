// The workflows of .github, read by actionlint, which knows the events, contexts, expressions and runners of GitHub.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
const folder = fileURLToPath(new URL('../../.github/workflows', import.meta.url));

// Go compiles it first.
test('actionlint has nothing to say', { timeout: 300_000 }, () => {
  const files = readdirSync(folder).map((name) => join(folder, name));
  expect(files.length).toBeGreaterThan(1);
  // Programs that it would run, if they are there, are not the same everywhere.
  const args = ['run', ACTIONLINT, '-no-color', '-shellcheck=', '-pyflakes=', ...files];
  const { status, stdout, stderr } = spawnSync('go', args, { cwd: tmpdir(), encoding: 'utf8' });
  expect({ status, stdout, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});
