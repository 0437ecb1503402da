// The manifests of deploy/kubernetes and deploy/compose, read by the schemas and the parser of those who run them.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SETTINGS } from '../../packages/config/src/index.ts';
import { providePython } from '../../tools/python-environment.js';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));
const read = (path: string): string => readFileSync(join(deploy, path), 'utf8');
const programs = providePython('interop-deploy', fileURLToPath(new URL('requirements.txt', import.meta.url)));

const VALIDATE = `
import sys, yaml, kubernetes_validate
for manifest in yaml.safe_load_all(open(sys.argv[1])):
    kubernetes_validate.validate(manifest, "1.37", strict=True)
    print(manifest["kind"])
`;

test('Kubernetes knows every field of its manifest', () => {
  const { stdout, stderr } = spawnSync(join(programs, 'python'), ['-c', VALIDATE, join(deploy, 'kubernetes/svc.yml')], {
    encoding: 'utf8',
  });
  expect({ stdout, stderr }).toEqual({ stdout: 'Secret\nService\nStatefulSet\n', stderr: '' });
});

test('Compose knows every field of its file, and the files that it mounts exist', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-compose-'));
  try {
    const args = ['run', 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2', join(deploy, 'compose/compose.yml')];
    const { status, stdout, stderr } = spawnSync('go', args, { cwd: folder, encoding: 'utf8' });
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^name: svc$/m);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const mounted = [...read('compose/compose.yml').matchAll(/- \.\.\/(\S+?):/g)].map((match) => match[1] ?? '');
  expect(mounted.length).toBe(4);
  for (const path of mounted.filter((one) => one.includes('.'))) expect(read(path)).not.toBe('');
});

/** The settings of the Dockerfile, else the defaults, in milliseconds. */
const [, drain = '0'] = /SERVICE_SERVER_DRAIN_DELAY_MS=(\d+)/.exec(read('container/Dockerfile')) ?? [];
const stopMs = Number(drain) + SETTINGS.server.shutdown_grace_ms.default + 2000;

test.each([
  ['kubernetes/svc.yml', /terminationGracePeriodSeconds: (\d+)/],
  ['compose/compose.yml', /stop_grace_period: (\d+)s/],
  ['systemd/svc.service', /TimeoutStopSec=(\d+)/],
])('%s waits longer for the server than it takes to stop', (path, pattern) => {
  expect(Number(pattern.exec(read(path))?.[1]) * 1000).toBeGreaterThan(stopMs);
});

test('the drain delay is longer than Kubernetes takes to notice', () => {
  const [, period, failures] =
    /readinessProbe:[^]*?periodSeconds: (\d+)\n\s*failureThreshold: (\d+)/.exec(read('kubernetes/svc.yml')) ?? [];
  expect(Number(drain)).toBeGreaterThan(Number(period) * Number(failures) * 1000);
});

test('every variable in deploy is that of a setting', () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/configuration.md', import.meta.url)), 'utf8');
  const files = ['container/Dockerfile', 'compose/compose.yml', 'kubernetes/svc.yml', 'systemd/svc.service'];
  const used = files.flatMap((path) => read(path).match(/\bSERVICE_[A-Z_]+\b/g) ?? []);
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
