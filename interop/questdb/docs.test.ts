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
  const isShown = block.mark === 'questdb' || block.mark === 'questdb-frames';
  return isShown && next?.followsAtOnce ? [{ line: block.line, command: block.text, mark: block.mark, next }] : [];
});

let serverUrl: string;
/** A server whose SQL runs over frames by default. */
let framesUrl: string;

beforeAll(async () => {
  const ends: (() => Promise<void>)[] = [];
  const env = { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') };
  const onEnd = (end: () => Promise<void>) => void ends.push(end);
  serverUrl = (await startProcess({ env, onEnd })).url;
  const local = { SERVICE_SQL_DEFAULT_ENGINE: 'local', SERVICE_HTTP_DEFAULT_FMT: 'json' };
  framesUrl = (await startProcess({ env: local, onEnd })).url;
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

  test.each(shown)('what line $line says is so', ({ command, mark, next }) => {
    const home = createHome();
    const url = mark === 'questdb' ? serverUrl : framesUrl;
    const { stdout } = spawnSync('bash', ['-c', command.replaceAll('localhost:9000', new URL(url).host)], {
      encoding: 'utf8',
      env: { PATH: `${home}/bin:${process.env['PATH']}`, HOME: home, LC_ALL: 'C.UTF-8', SVC_URL: url },
    });
    if (isAsShown(stdout, next)) return;
    expect(normalize(stdout, next.language)).toBe(normalize(next.text, next.language));
  });
});
