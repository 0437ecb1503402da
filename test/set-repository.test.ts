import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../tools/set-repository.js', import.meta.url));
const FOLDERS = ['packages/one', 'packages/two', 'apps/three', 'proto'];
const MANIFEST = `{
  "name": "any",
  "license": "MIT",
  "type": "module"
}
`;

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-repository-'));
  for (const folder of FOLDERS) {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, 'package.json'), MANIFEST);
  }
});

afterEach(() => rmSync(root, { recursive: true }));

function setRepository(env: Record<string, string>): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [script, '--root', root], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...env },
  });
  return { status, stderr };
}

const readManifest = (folder: string): string => readFileSync(join(root, folder, 'package.json'), 'utf8');

describe('set-repository', () => {
  test.each(FOLDERS)("names the workflow's repository and the folder in the manifest of %s", (folder) => {
    const env = { GITHUB_SERVER_URL: 'https://github.example', GITHUB_REPOSITORY: 'owner/its.name' };
    expect(setRepository(env)).toEqual({ status: 0, stderr: '' });
    expect(readManifest(folder)).toBe(`{
  "name": "any",
  "license": "MIT",
  "repository": {
    "type": "git",
    "url": "git+https://github.example/owner/its.name.git",
    "directory": "${folder}"
  },
  "type": "module"
}
`);
  });

  test.each([
    ['outside of a workflow', {}],
    ['without a name', { GITHUB_SERVER_URL: 'https://github.example' }],
    ['without a server', { GITHUB_REPOSITORY: 'owner/name' }],
    ['for a name with a path', { GITHUB_SERVER_URL: 'https://github.example', GITHUB_REPOSITORY: 'owner/name/more' }],
    ['for a server without TLS', { GITHUB_SERVER_URL: 'http://github.example', GITHUB_REPOSITORY: 'owner/name' }],
  ])('changes nothing %s', (_when, env: Record<string, string>) => {
    const { status, stderr } = setRepository(env);
    expect(status).toBe(1);
    expect(stderr).toContain(`GITHUB_REPOSITORY is "${env['GITHUB_REPOSITORY'] ?? ''}"`);
    expect(FOLDERS.map(readManifest)).toEqual(FOLDERS.map(() => MANIFEST));
  });
});
