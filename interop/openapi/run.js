// Compares a real server with its description: schemathesis sends requests of every kind and checks the responses.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython, SetUpError } from '../../tools/python-environment.js';
import { startServer } from '../../tools/server-process.js';

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  // `positive_data_acceptance`, with the exceptions of hooks.py.
  'accepts_valid_requests',
];
const HOME = fileURLToPath(new URL('.', import.meta.url));
/** A seed makes a failure repeatable. */
const SEED = 20_261_116;
const SECONDS = 60;

/** A linter of descriptions, with its recommended rules. */
const LINTER = '@redocly/cli@2.77.0';

/** The frames that the examples of the description name. */
const TRADES = 'id,symbol,price\n1,ACME,1.5\n2,BETA,2.5\n';

async function run(program, args, cwd) {
  const python = { PYTHONPATH: HOME, PYTHONDONTWRITEBYTECODE: '1', SCHEMATHESIS_HOOKS: 'hooks' };
  const linter = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const env = { ...process.env, ...python, ...linter };
  const [code] = await once(spawn(program, args, { cwd, env, stdio: 'inherit' }), 'close');
  return code === 0;
}

async function isValid(programs, server, folder, { name, headers = {} }) {
  const response = await fetch(`${server.url}/openapi.json`, { headers });
  const file = join(folder, name);
  writeFileSync(file, await response.text());
  return (
    response.status === 200 &&
    (await run(join(programs, 'openapi-spec-validator'), [file], folder)) &&
    (await run('npx', ['-y', LINTER, 'lint', '--extends', 'recommended', file], folder))
  );
}

/** The description of a server with tokens also says who may send a request. */
async function checkClosed(programs, folder) {
  const secret = randomBytes(32).toString('base64url');
  const hash = createHash('sha256').update(secret).digest('hex');
  const callers = join(folder, 'callers.toml');
  writeFileSync(
    callers,
    `[[token]]\nid = "t-apidoc"\nhash = "sha256:${hash}"\ntenant = "default"\npermissions = ["admin", "read", "write"]\n`,
  );
  const server = await startServer([], { env: { SERVICE_AUTH_CALLERS_FILE: callers } });
  const headers = { authorization: `Bearer svc_t-apidoc_${secret}` };
  const isPassed = await isValid(programs, server, folder, { name: 'openapi-closed.json', headers });
  await server.stop();
  return isPassed;
}

async function checkServer(programs, server, folder) {
  const file = 'openapi.json';
  const isDescribed = await isValid(programs, server, folder, { name: file });
  const put = await fetch(`${server.url}/frames/trades`, { method: 'PUT', body: TRADES });
  if (put.status !== 201) throw new Error(`The frame could not be put: ${await put.text()}`);
  // schemathesis keeps what it found in its working directory.
  const options = ['--checks', CHECKS.join(), '--max-time', String(SECONDS), '--seed', String(SEED), '--no-color'];
  const args = ['run', file, '--url', server.url, ...options, ...process.argv.slice(2)];
  const isRight = await run(join(programs, 'st'), args, folder);
  const health = await (await fetch(`${server.url}/health`)).json();
  if (health.status !== 'ok') console.error(`The server is ${health.status} afterwards.`);
  return isDescribed && isRight && health.status === 'ok';
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
const folder = mkdtempSync(join(tmpdir(), 'svc-openapi-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
try {
  const programs = providePython('interop-openapi', join(HOME, 'requirements.txt'));
  const server = await startServer();
  const isPassed = await checkServer(programs, server, folder);
  await server.stop();
  const isClosedRight = await checkClosed(programs, folder);
  process.exit(isPassed && isClosedRight ? 0 : 1);
} catch (error) {
  if (!(error instanceof SetUpError)) throw error;
  console.error(error.message);
  process.exit(1);
}
