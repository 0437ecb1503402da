import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provideDebian } from '../../tools/debian-packages.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Stands for the base image of the Dockerfile, which has a digest. */
const BASE = 'localhost/node:24-slim';

/** The packages of a system that can run Node and a shell. */
const SYSTEM = [
  'libc6',
  'libstdc++6',
  'libgcc-s1',
  'dash',
  'coreutils',
  'libselinux1',
  'libacl1',
  'libattr1',
  'libpcre2-8-0',
  'libgmp10',
];

/** The part of an image's configuration that a container runtime uses. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly StopSignal: string;
  readonly Volumes: Readonly<Record<string, unknown>>;
  readonly ExposedPorts: Readonly<Record<string, unknown>>;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

/** The image that `deploy/container/Dockerfile` makes. */
export interface BuiltImage {
  readonly config: ImageConfig;
  /** The files of a container of it. */
  readonly rootFolder: string;
  readonly bytes: number;
  readonly baseBytes: number;
  remove(): void;
}

/** Builds the Dockerfile with buildah, on a base image that is made of this machine's Node. */
export function buildImage(): BuiltImage {
  const folder = mkdtempSync(join(tmpdir(), 'svc-image-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const buildah = createBuildah(folder);
    const policy = ['--signature-policy', join(folder, 'policy.json')];
    writeFileSync(join(folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
    const base = buildah('from', ...policy, 'scratch');
    buildah('add', '--quiet', base, makeBase(join(folder, 'base')), '/');
    const variables = ['PATH=/usr/local/bin:/usr/bin:/bin', 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt'];
    buildah('config', ...variables.flatMap((variable) => ['--env', variable]), base);
    buildah('commit', '--quiet', ...policy, base, BASE);
    const build = ['--pull-never', '--isolation', 'chroot', '--network', 'host', '--format', 'docker', ...policy];
    buildah(
      'bud',
      ...build,
      '--from',
      BASE,
      '--build-arg',
      'VERSION=1.2.3',
      '-f',
      'deploy/container/Dockerfile',
      '-t',
      'svc',
      '.',
    );
    const container = buildah('from', '--pull-never', ...policy, 'localhost/svc');
    const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', 'localhost/svc'));
    const sizes: { names: string[]; size: string }[] = JSON.parse(buildah('images', '--json'));
    const sizeOf = (name: string): number => parseSize(sizes.find(({ names }) => names.includes(name))?.size ?? '');
    return {
      config: Docker.config,
      rootFolder: buildah('mount', container),
      bytes: sizeOf('localhost/svc:latest'),
      baseBytes: sizeOf(BASE),
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Returns a function that runs buildah with its storage in a folder, and returns its output. */
function createBuildah(folder: string): (...args: readonly string[]) => string {
  const programs = provideDebian('buildah', 'patchelf');
  const buildah = join(folder, 'buildah');
  cpSync(join(programs, 'usr/bin/buildah'), buildah);
  // It starts itself again without the variables that would name its libraries.
  const libraries =
    ['x86_64', 'aarch64'].map((arch) => join(programs, `usr/lib/${arch}-linux-gnu`)).find(existsSync) ?? '';
  const env = { ...process.env, PATH: `${join(programs, 'usr/bin')}:${process.env['PATH']}` };
  execFileSync(join(programs, 'usr/bin/patchelf'), ['--set-rpath', libraries, buildah]);
  const storage = ['--storage-driver', 'vfs', '--root', join(folder, 'storage'), '--runroot', join(folder, 'run')];
  return (...args) =>
    execFileSync(buildah, [...storage, ...args], {
      cwd: root,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
}

/** Makes the files of the base image: a shell, Node and npm. */
function makeBase(base: string): string {
  const system = provideDebian(...SYSTEM);
  mkdirSync(base);
  for (const name of ['bin', 'lib', 'lib64', 'usr']) {
    if (existsSync(join(system, name)))
      cpSync(join(system, name), join(base, name), { recursive: true, verbatimSymlinks: true });
  }
  rmSync(join(base, 'usr/share'), { recursive: true });
  for (const name of [
    'usr/local/bin',
    'usr/local/lib',
    'etc/ssl/certs',
    'tmp',
    'var/tmp',
    'root',
    'proc',
    'sys',
    'dev',
  ]) {
    mkdirSync(join(base, name), { recursive: true });
  }
  for (const name of ['tmp', 'var/tmp']) chmodSync(join(base, name), 0o1777);
  rmSync(join(base, 'bin/sh'), { force: true });
  symlinkSync('dash', join(base, 'bin/sh'));
  cpSync(realpathSync(process.execPath), join(base, 'usr/local/bin/node'));
  const npm = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
  cpSync(dirname(dirname(npm)), join(base, 'usr/local/lib/npm'), { recursive: true, dereference: true });
  for (const name of ['npm', 'npx']) symlinkSync(`../lib/npm/bin/${name}-cli.js`, join(base, 'usr/local/bin', name));
  const authorities = process.env['NODE_EXTRA_CA_CERTS'] ?? '/etc/ssl/certs/ca-certificates.crt';
  if (existsSync(authorities)) cpSync(realpathSync(authorities), join(base, 'etc/ssl/certs/ca-certificates.crt'));
  writeFileSync(join(base, 'etc/passwd'), 'root:x:0:0::/tmp:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n');
  writeFileSync(join(base, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  return base;
}

/** Parses a size as buildah prints it: `221 MB`. */
function parseSize(text: string): number {
  const [, number = 'NaN', unit = ''] = /^([\d.]+) ?([kMG]?B)$/.exec(text) ?? [];
  return Number(number) * ({ B: 1, kB: 1e3, MB: 1e6, GB: 1e9 }[unit] ?? NaN);
}
