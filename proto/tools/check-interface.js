// Lints the .proto files and checks them for breaking changes: against the merge base with main if this is another
// branch, else against the previous commit.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('..', import.meta.url));

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: join(folder, '..'), encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function buf(...args) {
  const { status } = spawnSync(join(folder, 'node_modules/.bin/buf'), args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) process.exitCode = 1;
}

/** The commit whose files are the interface as it was; undefined where there is none. */
function commitBefore() {
  const head = git('rev-parse', 'HEAD');
  const main = ['origin/main', 'main'].find((name) => {
    const commit = git('rev-parse', '--verify', '--quiet', name);
    return commit !== undefined && commit !== head;
  });
  return main === undefined ? git('rev-parse', '--verify', '--quiet', 'HEAD~1') : git('merge-base', 'HEAD', main);
}

buf('lint');
const commit = commitBefore();
if (commit !== undefined && git('rev-parse', '--verify', '--quiet', `${commit}:proto`) !== undefined) {
  const before = mkdtempSync(join(tmpdir(), 'svc-proto-'));
  try {
    const archive = join(before, 'proto.tar');
    git('archive', '--output', archive, `${commit}:proto`);
    buf('breaking', '--against', archive);
  } finally {
    rmSync(before, { recursive: true, force: true });
  }
}
