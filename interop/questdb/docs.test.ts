import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { startProcess } from '../../apps/server/test/server-process.ts';
import { blocksOf, isAsShown, normalize } from '../../test/shown-blocks.ts';

const PAGE = fileURLToPath(new URL('../../docs/tsdb.md', import.meta.url));
const CLI = fileURLToPath(new URL('../../apps/cli/bin/svc.js', import.meta.url));

const blocks = blocksOf(readFileSync(PAGE, 'utf8'));
const shown = blocks.flatMap((block, index) => {
  const next = blocks[index + 1];
  return block.mark === 'questdb' && next?.followsAtOnce ? [{ line: block.line, command: block.text, next }] : [];
});

let serverUrl: string;

beforeAll(async () => {
  const ends: (() => Promise<void>)[] = [];
  const env = { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') };
  serverUrl = (await startProcess({ env, onEnd: (end) => ends.push(end) })).url;
  await fetch(`${serverUrl}/exec?query=drop%20table%20if%20exists%20prices&fmt=json`);
  return async () => {
    for (const end of ends) await end();
  };
});

/** A home directory with `svc`, and a curl without progress output. */
function createHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'svc-home-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  mkdirSync(join(home, 'bin'));
  symlinkSync(CLI, join(home, 'bin/svc'));
  writeFileSync(join(home, '.curlrc'), 'silent\nshow-error\n');
  return home;
}

describe('docs/tsdb.md', () => {
  test('shows what its commands print', () => {
    expect(shown.length).toBeGreaterThan(5);
  });

  test.each(shown)('what line $line says is so', ({ command, next }) => {
    const home = createHome();
    const { stdout } = spawnSync('bash', ['-c', command.replaceAll('localhost:9000', new URL(serverUrl).host)], {
      encoding: 'utf8',
      env: { PATH: `${home}/bin:${process.env['PATH']}`, HOME: home, LC_ALL: 'C.UTF-8', SVC_URL: serverUrl },
    });
    if (isAsShown(stdout, next)) return;
    expect(normalize(stdout, next.language)).toBe(normalize(next.text, next.language));
  });
});
