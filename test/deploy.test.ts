// The files of deploy/ and the pages about them name the same things; interop/deploy runs them.
import { expect, test } from 'vitest';
import { read } from './pages.ts';

const alerts = [...read('deploy/prometheus/alerts.yml').matchAll(/- alert: (\w+)[^]*?severity: (\w+)/g)].map(
  ([, name, severity]) => [name, severity],
);

test('the base image of the container has a digest, which Dependabot renews', () => {
  const [base, ...later] = [...read('deploy/container/Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  expect(base).toMatch(/^docker\.io\/library\/node:24-slim@sha256:[0-9a-f]{64}$/);
  expect(later).toEqual(['node', 'node']);
  expect(read('.github/dependabot.yml')).toMatch(/package-ecosystem: docker\n {4}directory: \/deploy\/container\n/);
});

test('docs/operating.md says what to do about each alert', () => {
  const rows = [...read('docs/operating.md').matchAll(/^\| `(Svc\w+)` +\| (\w+) +\| (.+?) +\|$/gm)];
  expect(rows.map(([, name, severity]) => [name, severity])).toEqual(alerts);
});

test('the limits of memory in the unit and in the alert belong together', () => {
  const [, gigabytes] = /^MemoryMax=(\d+)G$/m.exec(read('deploy/systemd/svc.service')) ?? [];
  const [, bytes] = /process_resident_memory_bytes\S* > (\S+)/.exec(read('deploy/prometheus/alerts.yml')) ?? [];
  expect(Number(bytes)).toBe(Number(gigabytes) * 0.75e9);
});
