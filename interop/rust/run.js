// Runs the Flight SQL client of the crate arrow-flight, and its command line, against a real server, unmodified.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../tools/server-process.js';
import { startTlsServer } from '../../tools/tls-server.js';
import { recordClients, seenIn } from '../record-clients.js';
import { runCommandLine } from './command-line.js';

/** What arrow-flight needs. */
const OLDEST_RUST = [1, 88];
const own = fileURLToPath(new URL('.', import.meta.url));
const folder = fileURLToPath(new URL('../../node_modules/.cache/interop-rust', import.meta.url));
const programs = join(folder, 'target', 'debug');
// Cargo has its caches in the home directory, even if the environment does not name one.
const env = { HOME: homedir(), ...process.env, CARGO_TARGET_DIR: join(folder, 'target'), RUST_BACKTRACE: '0' };

function run(program, args, options = {}) {
  return spawnSync(program, args, {
    encoding: 'utf8',
    timeout: 1_200_000,
    ...options,
    env: { ...env, ...options.env },
  });
}

/** Returns why there is no Rust that is new enough; undefined if there is one. */
function missingRust() {
  const { status, stdout, stderr, error } = run('cargo', ['--version']);
  const version = status === 0 ? /\d+\.\d+/.exec(stdout)?.[0] : undefined;
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  const isNew = major > OLDEST_RUST[0] || (major === OLDEST_RUST[0] && minor >= OLDEST_RUST[1]);
  if (isNew) return undefined;
  // The cargo of rustup fails if its home is elsewhere.
  const none = error ? 'there is no cargo on the path.' : `cargo --version says: ${stderr.trim()}`;
  return `Rust ${OLDEST_RUST.join('.')} or newer is needed: ${version === undefined ? none : `here is ${version}.`}`;
}

function readPage() {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const { crates } = /^```toml rust\n(?<crates>.*?)^```$/ms.exec(page).groups;
  return { crates, .../^```rust\n(?<program>.*?)^```\n\n^```text\n(?<shown>.*?)^```$/ms.exec(page).groups };
}

/** Builds the client, the program of the page, and the command line of the crate. */
function build({ crates, program }, tlsPort) {
  const manifest = readFileSync(join(own, 'Cargo.toml'), 'utf8');
  const other = crates.split('\n').find((line) => !manifest.split('\n').includes(line));
  if (other !== undefined) throw new Error(`The page has a crate that Cargo.toml does not have so: ${other}`);
  for (const name of ['Cargo.toml', 'Cargo.lock', 'src']) {
    cpSync(join(own, name), join(folder, name), { recursive: true, preserveTimestamps: true });
  }
  mkdirSync(join(folder, 'src', 'bin'), { recursive: true });
  writeFileSync(join(folder, 'src', 'bin', 'example.rs'), program.replace(/\b50052\b/, tlsPort));
  for (const which of [[], ['--package', 'arrow-flight', '--bin', 'flight_sql_client']]) {
    const args = ['build', '--locked', '--quiet', ...which];
    if (run('cargo', args, { cwd: folder, stdio: 'inherit' }).status !== 0) throw new Error('Cargo failed.');
  }
}

/** Runs the program of the page with TLS and a token. */
function runExample(shown, tls) {
  const { status, stdout, stderr } = run(join(programs, 'example'), [], {
    cwd: tls.folder,
    env: { SVC_TOKEN: tls.token },
  });
  const isRight = status === 0 && stdout === shown;
  if (!isRight) console.error(`The program of the page should print:\n${shown}\nPrinted:\n${stdout}${stderr}`);
  return isRight;
}

/** Runs the clients, and compares what they show with the record. */
function runClients(server, tls) {
  const { status, stdout, stderr } = run(join(programs, 'interop-rust'), [server.grpc, tls.grpc, tls.folder]);
  if (status !== 0) {
    console.error(`The client failed:\n${stdout}${stderr}`);
    return false;
  }
  const lock = readFileSync(join(own, 'Cargo.lock'), 'utf8');
  const { version } = /^name = "arrow-flight"\nversion = "(?<version>[^"]+)"$/m.exec(lock).groups;
  const commandLine = runCommandLine((args) => run(join(programs, 'flight_sql_client'), args), server, tls);
  return recordClients('rust', [
    { client: 'Rust `FlightSqlServiceClient`', version, through: '', ...seenIn(stdout) },
    { client: 'Rust `flight_sql_client`', version, through: '', ...commandLine },
  ]);
}

const missing = missingRust();
if (missing !== undefined) {
  console.error(`${missing} The suite is skipped.`);
  process.exit(0);
}
const page = readPage();
const tls = await startTlsServer();
build(page, tls.grpc.split(':').at(-1));
const server = await startServer();
const isRecorded = runClients(server, tls);
const isExampleRight = runExample(page.shown, tls);
await server.stop();
await tls.stop();
if (isRecorded && isExampleRight) console.error('The Rust clients work as recorded.');
process.exit(isRecorded && isExampleRight ? 0 : 1);
