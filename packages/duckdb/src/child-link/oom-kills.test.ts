import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createOomKills } from './child-errors.ts';

/** A root directory with some files, and a function that writes another one. */
function rootWith(files: Readonly<Record<string, string>>): {
  root: string;
  write: (path: string, text: string) => void;
} {
  const root = mkdtempSync(join(tmpdir(), 'svc-root-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  return { root, write };
}

const events = (kills: number) => `low 0\nhigh 0\nmax 94\noom ${kills}\noom_kill ${kills}\noom_group_kill 0\n`;
const control = (kills: number) => `oom_kill_disable 0\nunder_oom 0\noom_kill ${kills}\n`;
const V1_GROUPS = '9:name=systemd:/\n8:pids:/\n5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n0::/\n';

test.each([
  ['version 2', '0::/system.slice/svc.service\n', 'sys/fs/cgroup/system.slice/svc.service/memory.events', events],
  ['version 2 in a container', '0::/\n', 'sys/fs/cgroup/memory.events', events],
  ['version 2 in a container with the path of the host', '0::/kubepods/pod/a\n', 'sys/fs/cgroup/memory.events', events],
  ['version 1', V1_GROUPS, 'sys/fs/cgroup/memory/docker/a/memory.oom_control', control],
  ['version 1 in a container', V1_GROUPS, 'sys/fs/cgroup/memory/memory.oom_control', control],
] as const)('each kill since the start is claimed once: %s', (_name, groups, file, text) => {
  const { root, write } = rootWith({ 'proc/self/cgroup': groups, [file]: text(3) });
  const kills = createOomKills(root);
  expect(kills.claim()).toBe(false);
  write(file, text(5));
  expect([kills.claim(), kills.claim(), kills.claim()]).toEqual([true, true, false]);
});

test('on an old kernel of version 1, a kill since the group reached its limit again is claimed once', () => {
  const failcnt = 'sys/fs/cgroup/memory/docker/a/memory.failcnt';
  const { root, write } = rootWith({
    'proc/self/cgroup': V1_GROUPS,
    'sys/fs/cgroup/memory/docker/a/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\n',
    [failcnt]: '7\n',
  });
  const kills = createOomKills(root);
  expect(kills.claim()).toBe(false);
  write(failcnt, '950\n');
  expect([kills.claim(), kills.claim()]).toEqual([true, false]);
  write(failcnt, '951\n');
  expect(kills.claim()).toBe(true);
});

test.each([
  ['no control groups', {}],
  ['a group without a limit of memory', { 'proc/self/cgroup': '0::/\n' }],
  [
    'a file of an old kernel without a limit of memory',
    { 'proc/self/cgroup': V1_GROUPS, 'sys/fs/cgroup/memory/memory.oom_control': 'under_oom 0\n' },
  ],
])('without a count, nothing is claimed: %s', (_name, files) => {
  expect(createOomKills(rootWith(files).root).claim()).toBe(false);
});
