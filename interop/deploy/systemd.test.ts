// The unit of deploy/systemd, checked by systemd itself: by that of the machine, else by Debian's.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { analyze } from './systemd-analyze.ts';

const unit = fileURLToPath(new URL('../../deploy/systemd/svc.service', import.meta.url));

test('systemd-analyze verify has nothing to say', () => {
  const { status, stdout, stderr } = analyze('verify', unit);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('systemd-analyze security rates the exposure at 2.0 or less', () => {
  const { stdout } = analyze('security', '--offline=true', '--no-pager', unit);
  const [, level = 'NaN'] = /Overall exposure level for svc\.service: ([\d.]+)/.exec(stdout) ?? [];
  expect(Number(level)).toBeLessThanOrEqual(2);
});

test('systemd waits longer than the server takes to stop', () => {
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(readFileSync(unit, 'utf8')) ?? [];
  const drain = 5000;
  const [grace, margin] = [10_000, 2000];
  expect(Number(seconds) * 1000).toBeGreaterThan(drain + grace + margin);
});
