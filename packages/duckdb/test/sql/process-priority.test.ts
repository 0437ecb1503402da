import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { processPriority } from '../../src/sql/children.ts';

/** The distinct priorities of the threads of a process: 0 is normal, a higher number is lower. */
function prioritiesOf(pid: number): number[] {
  const all = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    return Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[16]);
  });
  return [...new Set(all)];
}

test.runIf(existsSync('/proc/self/task'))('every thread of a process has its priority', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log(1)']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const { pid = 0 } = child;
  const own = prioritiesOf(pid);
  const priority = processPriority(pid);
  expect(priority.restore()).toBe(true);
  expect(prioritiesOf(pid)).toEqual(own);
  priority.lower();
  expect(prioritiesOf(pid)).toEqual([10]);
  // Without the privilege, the priority stays and `restore` returns false.
  const isRestored = priority.restore();
  expect(prioritiesOf(pid)).toEqual([isRestored ? 0 : 10]);
});

test('restoring the priority of a process that has exited returns false', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  const { pid = 0 } = child;
  await once(child, 'exit');
  const priority = processPriority(pid);
  priority.lower();
  expect(priority.restore()).toBe(false);
});
