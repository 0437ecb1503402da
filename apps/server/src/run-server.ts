import { readFileSync } from 'node:fs';
import { homedir, hostname, tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Config,
  describeSource,
  type Finding,
  formatConfig,
  formatHelp,
  formatProblems,
  isLoopback,
  loadConfig,
  type LoadConfigResult,
  type LoadedConfig,
} from '@svc/config';
import { startChild } from '@svc/duckdb/internal';
import { openAudit } from './observers/audit.ts';
import { createLogObserver } from './observers/log-observer.ts';
import { createLog, type Log } from './observers/log.ts';
import { openConfiguredAuthenticator, openConfiguredTls } from './parts/open-credentials.ts';
import { createStopSteps, startStopDeadline, waitForSignal } from './shutdown.ts';
import type { RunningServer } from './start-server.ts';
import type { Traces } from './traces/open-traces.ts';

/** The name in the environment variables (`SERVICE_…`) and the configuration file (`~/.service/`). */
const NAME = 'service';
const EXIT = { ok: 0, cannotStart: 1, badConfiguration: 2 } as const;

/** Options of `runServer`. */
export interface RunOptions {
  /** The command of the user, for the help. Default: `server`. */
  readonly command?: string;
  /** Called when the server is ready. An exit code other than 0 stops it. */
  readonly onReady?: (addresses: ReadyAddresses) => Promise<number>;
}

/** Where a server can be reached from its own machine. */
export interface ReadyAddresses {
  readonly http: string;
  /** Undefined: the console is off. */
  readonly console: string | undefined;
}

/** Runs the server until a signal, or prints the help, version or configuration; resolves to the exit code. */
export async function runServer(argv: readonly string[], options: RunOptions = {}): Promise<number> {
  const isTerminal = process.stderr.isTTY;
  const loaded = loadConfig({ name: NAME, argv, env: process.env, homeDir: homedir(), isTerminal });
  if (loaded.kind === 'config') return serve(loaded, options.onReady);
  if (loaded.kind === 'problems') return refuse(...loaded.problems);
  if (loaded.kind === 'print-config') warnOf(loaded, logOf(loaded));
  process.stdout.write(textAskedFor(loaded, options.command ?? 'server'));
  return EXIT.ok;
}

function textAskedFor(loaded: Exclude<LoadConfigResult, { kind: 'config' | 'problems' }>, command: string): string {
  if (loaded.kind === 'help') return formatHelp({ name: NAME, command });
  if (loaded.kind === 'version') return `${packageVersion()}\n`;
  return formatConfig(loaded);
}

function refuse(...problems: readonly Finding[]): number {
  process.stderr.write(formatProblems(problems));
  return EXIT.badConfiguration;
}

function logOf({ config }: LoadedConfig): Log {
  return createLog(config.logging, { service: 'svc', version: packageVersion(), instance: hostname() });
}

function warnOf({ warnings }: LoadedConfig, log: Log): void {
  for (const { source, message, hint } of warnings) log.warn(`${describeSource(source)}: ${message} ${hint}`);
}

async function serve(loaded: LoadedConfig, onReady: RunOptions['onReady']): Promise<number> {
  const { config } = loaded;
  const version = packageVersion();
  const log = logOf(loaded);
  const opened = await openConfiguredAuthenticator(loaded, createLogObserver(log));
  if ('problem' in opened) {
    if (!opened.isConfiguration) {
      log.error(`${opened.problem.message} ${opened.problem.hint}`);
      return EXIT.cannotStart;
    }
    return refuse(opened.problem);
  }
  const openedTls = await openConfiguredTls(loaded, log);
  if ('problem' in openedTls) return refuse(openedTls.problem);
  const audit = await openAudit(loaded, log);
  if ('problem' in audit) return refuse(audit.problem);
  warnOf(loaded, log);
  for (const sentence of startWarnings(config)) log.warn(sentence);
  // A signal may arrive as soon as a listener answers: the start finishes first.
  const signalled = waitForSignal();
  const steps = createStopSteps();
  let isSignalled = false;
  void signalled.then(() => {
    isSignalled = true;
    const { drain_delay_ms: drainMs, shutdown_grace_ms: graceMs } = config.server;
    startStopDeadline({ steps, graceMs: drainMs + graceMs, log, exit: (code) => process.exit(code) });
  });
  // The child takes longest to start: start it first, and load the rest meanwhile.
  const child = startChild({ tempDirectory: tmpdir() });
  const { isForOperator, startServer } = await import('./start-server.ts');
  try {
    const traces = await openConfiguredTraces(config, log, version);
    const options = { version, child, steps, ...opened, ...openedTls, audit: audit.observe, traces };
    const starting = startServer(config, log, options);
    const server = await steps.run('the start', starting);
    const { httpUrl: http, grpcAddress: grpc, metricsUrl: metrics } = server;
    // If it was told to stop before it was ready, it has no traffic to drain.
    const drainMs = isSignalled ? 0 : config.server.drain_delay_ms;
    const local = localUrl(http);
    const page = config.http.console ? `${local}/` : undefined;
    const others = { ...(metrics !== undefined && { metrics }), ...(page !== undefined && { console: page }) };
    if (!isSignalled) log.always('ready', { http, grpc, ...others, pid: process.pid });
    const failed = onReady === undefined ? undefined : failureOf(onReady({ http: local, console: page }));
    const end = await Promise.race([signalled, ...(failed === undefined ? [] : [failed])]);
    if (typeof end === 'string') await drain(server, drainMs, end, log);
    log.info('stopping', typeof end === 'string' ? { signal: end } : {});
    await server.stop();
    await steps.run('the traces', traces?.close() ?? Promise.resolve());
    await steps.run('the audit', audit.close());
    log.info('stopped');
    return typeof end === 'string' ? EXIT.ok : end;
  } catch (error) {
    if (!isForOperator(error)) throw error;
    log.error(error.message);
    return EXIT.cannotStart;
  }
}

/** Resolves to an exit code other than 0; never if it is 0. */
async function failureOf(ready: Promise<number>): Promise<number> {
  const code = await ready;
  return code === EXIT.ok ? new Promise<never>(() => {}) : code;
}

/** The URL of a listener for clients on this machine: one for every address has no name of its own. */
function localUrl(url: string): string {
  return url.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:\d+$)/, '//localhost');
}

/** Opens the traces of a configuration; undefined if it names no collector. */
async function openConfiguredTraces({ traces }: Config, log: Log, version: string): Promise<Traces | undefined> {
  if (traces.otlp_url === undefined) return undefined;
  const { openTraces } = await import('./traces/open-traces.ts');
  return openTraces(traces.otlp_url, traces, log, version);
}

/** Answers requests while load balancers notice the stop. */
async function drain(server: RunningServer, drainDelayMs: number, signal: string, log: Log): Promise<void> {
  if (drainDelayMs === 0) return;
  log.info('draining', { signal, drainDelayMs });
  server.drain();
  await sleep(drainDelayMs);
}

function packageVersion(): string {
  const file: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof file === 'object' && file !== null && 'version' in file ? String(file.version) : 'unknown';
}

/** Warnings at the start: who can reach the server, and if the frames are not durable. */
export function startWarnings({ server, metrics, storage, auth, tls }: Config): readonly string[] {
  const frames = openHosts([server.http_bind_address.host, server.grpc_host]);
  const scraped = openHosts(metrics.enabled && metrics.bind_address !== undefined ? [metrics.bind_address.host] : []);
  const warnings: string[] = [];
  if (auth.mode === 'none') {
    if (frames.length > 0) warnings.push(openTo(frames, tls, 'read and change every frame'));
    if (scraped.length > 0) warnings.push(openTo(scraped, tls, 'read the metrics'));
  } else if (tls.cert_file === undefined) {
    const hosts = [...new Set([...frames, ...scraped])];
    if (hosts.length > 0) {
      warnings.push(`Tokens for ${hosts.join(' or ')} cross the network unencrypted: there is no TLS.`);
    }
  }
  if (storage.parquet_path === undefined) {
    warnings.push('Frames are kept in a temporary directory and are lost when this process ends.');
  }
  return warnings;
}

/** Returns the hosts for other machines. */
function openHosts(hosts: readonly string[]): readonly string[] {
  return [...new Set(hosts.filter((host) => !isLoopback(host)))];
}

function openTo(
  hosts: readonly string[],
  { client_ca_file: clientCa, client_certificates: certificates }: Config['tls'],
  what: string,
): string {
  const isGuarded = clientCa !== undefined && certificates === 'required';
  const named = hosts.join(' or ');
  const who = isGuarded
    ? `Every client of ${named} with a certificate of tls.client_ca_file`
    : `Anyone who can reach ${named}`;
  return `${who} can ${what}: there is no authentication.`;
}
