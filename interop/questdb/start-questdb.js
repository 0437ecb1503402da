// A real QuestDB in a child process on loopback, with a directory that is removed when it ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../../tools/free-ports.js';
import { provideJar } from '../provide-jar.js';

const QUESTDB = {
  group: 'org.questdb',
  artifact: 'questdb',
  version: '9.3.4',
  sha256: '939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062',
};

/** The version of the database. */
export const QUESTDB_VERSION = QUESTDB.version;

const START_TIMEOUT_MS = 180_000;
const INTERNALS = ['jdk.internal.math', 'jdk.internal.vm'].flatMap((name) => [
  '--add-exports',
  `java.base/${name}=ALL-UNNAMED`,
]);

/**
 * Starts a database and waits until it answers. `env` contains more settings, such as `QDB_HTTP_USER`; `path` is the base
 * path that they configure.
 */
export async function startQuestdb({ env = {}, path = '' } = {}) {
  const jar = provideJar(QUESTDB);
  const [port] = await freePorts(1);
  const root = mkdtempSync(join(tmpdir(), 'svc-questdb-'));
  const log = join(root, 'log');
  let child;

  const start = async () => {
    const output = openSync(log, 'a');
    child = spawn(
      'java',
      ['-Xms64m', '-Xmx512m', ...INTERNALS, '-p', jar, '-m', 'io.questdb/io.questdb.ServerMain', '-d', root, '-n'],
      { env: { PATH: process.env.PATH, HOME: root, ...settings(port), ...env }, stdio: ['ignore', output, output] },
    );
    await untilReady(child, port, log);
  };
  const kill = async () => {
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  const stop = async () => {
    await kill();
    rmSync(root, { recursive: true, force: true });
  };
  // Stop the database when this process exits, for whatever reason.
  process.once('exit', () => child?.kill('SIGKILL'));
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${port}${path}`,
    port,
    get pid() {
      return child?.pid;
    },
    /** Kills the database, like a crash. */
    kill,
    /** Restarts the database after a kill, with its data. */
    start,
    stop,
  };
}

function settings(port) {
  return {
    QDB_HTTP_BIND_TO: `127.0.0.1:${port}`,
    QDB_HTTP_NET_BIND_TO: `127.0.0.1:${port}`,
    QDB_HTTP_MIN_ENABLED: 'false',
    QDB_PG_ENABLED: 'false',
    QDB_LINE_TCP_ENABLED: 'false',
    QDB_TELEMETRY_ENABLED: 'false',
    QDB_METRICS_ENABLED: 'false',
    QDB_SHARED_WORKER_COUNT: '2',
    // Otherwise it logs a line for every query.
    QDB_LOG_W_STDOUT_LEVEL: 'ERROR',
  };
}

async function untilReady(child, port, log) {
  const problems = [];
  child.once('error', ({ message }) =>
    problems.push(`Java could not be started (${message}); QuestDB needs Java 17 or newer.`),
  );
  child.once('exit', (code) => problems.push(`QuestDB ended with code ${code}:\n${readFileSync(log, 'utf8')}`));
  const end = performance.now() + START_TIMEOUT_MS;
  while (problems.length === 0 && performance.now() < end) {
    const status = await fetch(`http://127.0.0.1:${port}/ping`).then(
      (response) => response.status,
      () => undefined,
    );
    if (status === 204) return;
    await delay(100);
  }
  throw new Error(problems[0] ?? `QuestDB did not answer within ${START_TIMEOUT_MS} ms.`);
}
