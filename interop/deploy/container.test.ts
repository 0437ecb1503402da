// The image of deploy/container/Dockerfile, built by buildah and run as a runtime would: as the user of the image, with a
// read-only root, a volume for the data and a tmpfs.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../tools/free-ports.js';
import { type BuiltImage, buildImage } from './image.ts';

let image: BuiltImage;
let volume: string;
let ports: readonly number[];
const running = new Set<ChildProcess>();

beforeAll(async () => {
  volume = mkdtempSync(join(tmpdir(), 'svc-volume-'));
  image = buildImage();
  chownSync(volume, 1000, 1000);
  ports = await freePorts(2);
});

afterAll(async () => {
  for (const child of running) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  image?.remove();
  rmSync(volume, { recursive: true, force: true });
});

/** The command of a process in the container: its process id stays that of the command. */
function inContainer(command: readonly string[], variables: readonly string[] = []): readonly string[] {
  const { rootFolder: root, config } = image;
  const script = `
    mount --bind "$1" "$1" && mount --bind "$2" "$1/data" && mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" &&
    mount -t tmpfs tmpfs "$1/tmp" && mount -o remount,bind,ro "$1" && root=$1 && shift 2 &&
    exec chroot --userspec=${config.User} "$root" "$@"`;
  const environment = ['/usr/bin/env', '-i', '-C', '/data', ...config.Env, ...variables];
  return [
    'unshare',
    '--mount',
    '--propagation',
    'private',
    'sh',
    '-ec',
    script,
    'sh',
    root,
    volume,
    ...environment,
    ...command,
  ];
}

interface Container {
  readonly url: string;
  readonly child: ChildProcess;
  readonly log: string[];
}

const variables = (): string[] => [
  `SERVICE_HTTP_BIND_ADDRESS=127.0.0.1:${ports[0]}`,
  'SERVICE_GRPC_HOST=127.0.0.1',
  `SERVICE_GRPC_PORT=${ports[1]}`,
  'SERVICE_SERVER_DRAIN_DELAY_MS=0',
];

async function start(): Promise<Container> {
  const [program = '', ...args] = inContainer(image.config.Entrypoint, variables());
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const log: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    log.push(line);
    const ready = line.startsWith('{') ? JSON.parse(line) : {};
    if (ready.message !== 'ready') continue;
    child.stderr.resume();
    return { url: ready.http, child, log };
  }
  throw new Error(`The container ended:\n${log.join('\n')}`);
}

function healthcheck(): number | null {
  const [kind, ...command] = image.config.Healthcheck.Test;
  expect(kind).toBe('CMD');
  const [program = '', ...args] = inContainer(command, variables());
  return spawnSync(program, args).status;
}

async function stop({ child }: Container, signal: NodeJS.Signals): Promise<number | null> {
  child.kill(signal);
  await once(child, 'exit');
  return child.exitCode;
}

test('the image says how it is run, and adds at most 90 MB to its base', () => {
  expect(image.config).toMatchObject({
    User: '1000:1000',
    Entrypoint: ['node', '/app/bin/svc.js', 'serve'],
    StopSignal: 'SIGTERM',
    Volumes: { '/data': {} },
    ExposedPorts: { '9000/tcp': {}, '50052/tcp': {} },
    Labels: { 'org.opencontainers.image.version': '1.2.3', 'org.opencontainers.image.licenses': 'MIT' },
  });
  expect(image.config.Env).toEqual(expect.arrayContaining(['NODE_ENV=production', 'SERVICE_DATA_DIR=/data']));
  expect(image.bytes - image.baseBytes).toBeLessThanOrEqual(90e6);
  expect(readdirSync(join(image.rootFolder, 'app')).toSorted()).toEqual(
    ['LICENSE', 'bin', 'bundle', 'healthcheck.cjs', 'node_modules', 'package.json'].toSorted(),
  );
});

test('the code cache of V8 and the SBOM are in the image', () => {
  expect(existsSync(join(image.rootFolder, 'app/bundle/sbom.cdx.json'))).toBe(true);
  const names = readdirSync(join(image.rootFolder, 'app/bundle')).filter((name) => name.endsWith('.code'));
  expect(names.length).toBeGreaterThan(10);
});

test('the container serves as uid 1000 with a read-only root, survives kill -9, stops on SIGTERM, and its health follows', async () => {
  const first = await start();
  const status = execFileSync('cat', [`/proc/${first.child.pid}/status`], { encoding: 'utf8' });
  expect(status).toMatch(/^Uid:\s+1000\s+1000\s+1000\s+1000$/m);
  expect(healthcheck()).toBe(0);
  const put = await fetch(`${first.url}/frames/trades?fmt=csv`, { method: 'PUT', body: 'id,price\n1,1.5\n2,2.5\n' });
  expect(put.status).toBe(201);
  const sql = encodeURIComponent('select sum(price) as total from trades');
  expect(await (await fetch(`${first.url}/exec?engine=local&fmt=json&query=${sql}`)).json()).toMatchObject({
    dataset: [[4]],
  });
  const parquet = await fetch(`${first.url}/exp?handle=trades&fmt=parquet`);
  expect(
    Buffer.from(await parquet.arrayBuffer())
      .subarray(0, 4)
      .toString(),
  ).toBe('PAR1');
  expect(await stop(first, 'SIGKILL')).toBeNull();
  expect(healthcheck()).toBe(1);

  const second = await start();
  expect(await (await fetch(`${second.url}/exec?handle=trades&fmt=json`)).json()).toMatchObject({ count: 2 });
  expect(healthcheck()).toBe(0);
  expect(await stop(second, 'SIGTERM')).toBe(0);
  expect(healthcheck()).toBe(1);
  expect(existsSync(join(volume, 'cold'))).toBe(true);
});

test('nothing but the data and /tmp can be written', () => {
  const [program = '', ...args] = inContainer(['sh', '-c', 'touch /data/x /tmp/x && ! touch /app/x && ! touch /x']);
  expect(spawnSync(program, args).status).toBe(0);
});

test('svc in the container backs up the data of the server that runs there', async () => {
  const server = await start();
  const [program = '', ...args] = inContainer(['svc', 'backup', '/data', '/data/backup']);
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^\/data\/backup: 1 frame, \d+ bytes\n$/),
  });
  await stop(server, 'SIGTERM');
});
