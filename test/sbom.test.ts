import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

interface Component {
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly 'bom-ref': string;
  readonly licenses?: readonly { readonly license?: { readonly id: string } }[];
}

interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const fullName = ({ group, name, version }: Component): string =>
  `${group === undefined ? '' : `${group}/`}${name} ${version}`;

describe.each(['server', 'cli'])('the SBOM of %s', (app) => {
  const sbom: Sbom = JSON.parse(read(`apps/${app}/bundle/sbom.cdx.json`));
  const names = sbom.components.map(fullName);

  test('has every package of NOTICES.txt with its licence, and the native engine, and nothing else', () => {
    const notices = [...read(`apps/${app}/bundle/NOTICES.txt`).matchAll(/^(\S+ \d+\.\d+\.\d+\S*) \((.+)\)$/gm)];
    expect(notices.length).toBeGreaterThan(20);
    const licences = new Map(sbom.components.map((one) => [fullName(one), one.licenses?.[0]?.license?.id]));
    expect(notices.map(([, name, licence]) => [name, licence])).toEqual(
      notices.map(([, name = '']) => [name, licences.get(name)]),
    );
    const others = names.filter((name) => !notices.some(([, listed]) => listed === name));
    expect(others.filter((name) => !name.startsWith('@duckdb/node-bindings'))).toEqual([]);
    expect(others.some((name) => name.startsWith('@duckdb/node-bindings-linux-x64 '))).toBe(true);
  });

  test('names the program and its version, each package once, and what it depends on', () => {
    const { version } = JSON.parse(read(`apps/${app}/package.json`));
    expect({ ...sbom, components: undefined, dependencies: undefined }).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      metadata: { component: { type: 'application', purl: `pkg:npm/%40svc/${app}@${version}` } },
    });
    expect(new Set(names).size).toBe(names.length);
    expect(sbom.dependencies).toEqual([
      { ref: sbom.metadata.component['bom-ref'], dependsOn: sbom.components.map((one) => one['bom-ref']) },
    ]);
  });

  test('is attached to the release of the program', () => {
    const { version } = JSON.parse(read(`apps/${app}/package.json`));
    const folder = mkdtempSync(join(tmpdir(), 'svc-sbom-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const workflow = read('.github/workflows/release.yml');
    const [, copy = ''] = /^ +(for app in server cli; do cp .+)$/m.exec(workflow) ?? [];
    execFileSync('sh', ['-euc', copy.replace('"release/', `"${folder}/`)], { cwd: root });
    const args = [`${root}tools/attach-sboms.js`, folder, '--dry-run'];
    const printed = execFileSync(process.execPath, args, { encoding: 'utf8' });
    expect(printed).toMatch(
      new RegExp(`^gh release upload @svc/${app}@${version} \\S+/svc-${app}-${version}\\.cdx\\.json --clobber$`, 'm'),
    );
    expect(workflow).toContain('node tools/attach-sboms.js "$RUNNER_TEMP/release"');
  });
});
