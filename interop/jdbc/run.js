// Runs a session of the Flight SQL JDBC driver against a real server, and compares its output.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startServer } from '../../tools/server-process.js';
import { startTlsServer } from '../../tools/tls-server.js';
import { provideJar } from '../provide-jar.js';
import { recordClients } from '../record-clients.js';

const DRIVER = {
  group: 'org.apache.arrow',
  artifact: 'flight-sql-jdbc-driver',
  version: '18.3.0',
  sha256: '3f418b46c880e263558c5de669bdbede2c5d4375527ced116fb29f795b03704c',
};

const EXPECTED = `5 rows kept
0 n0 2024-01-02 03:04:05.0
1 n1 2024-01-02 03:04:05.0
bound n3
bound n4
of no type hello
Error while executing SQL "SELECT * FROM nope": There is no frame "nope". SHOW TABLES lists the frames.
?::TIMESTAMP 2024-01-02 03:04:05.678
?::TIMESTAMP 2024-01-02 03:04:05.678
?::TIMESTAMP 1969-12-31 23:59:59.999
?::TIMESTAMP 0001-01-01 00:00:00
?::TIMESTAMPTZ 2024-01-02 03:04:05.678+00
?::TIMESTAMP_NS 2024-01-02 03:04:05.678
?::TIME 03:04:05
?::TIME 03:25:45.678
?::DATE 2024-01-02
?::DATE 1969-12-31
?::TIMESTAMP null
?::TIME null
?::DATE null
equal 5
Data-frame server (DuckDB) false false
true true
- memory
- main
- TABLE
- memory main jdbc_kept TABLE
- id BIGINT
- name VARCHAR
- at TIMESTAMP
3 rows made
0 rows left
`;

const TLS_EXPECTED = `token 42
certificate 42
nothing The request has no credentials
`;

const driver = provideJar(DRIVER);

function java(name, args, env = {}) {
  const program = fileURLToPath(new URL(name, import.meta.url));
  const options = ['--add-opens=java.base/java.nio=ALL-UNNAMED', '-Duser.timezone=UTC', '-cp', driver];
  return spawnSync('java', [...options, program, ...args], {
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, ...env },
  });
}

/** Runs a Java program, and returns whether it prints what it should. */
function runProgram(name, args, { expected, env = {} }) {
  const { status, stdout, stderr, error } = java(name, args, env);
  const isRight = status === 0 && stdout === expected;
  if (error) console.error(`Java 17 or newer is needed, and could not be started: ${error.message}`);
  else if (isRight) console.error(`${name} printed what it should.`);
  else console.error(`Expected of ${name}:\n${expected}\nPrinted:\n${stdout}${stderr}`);
  return isRight;
}

/** Runs the program whose output is the row of the driver in docs/clients.md. */
function runClients(grpc) {
  const { status, stdout, stderr } = java('Clients.java', [grpc]);
  if (status !== 0) {
    console.error(`Clients.java failed:\n${stdout}${stderr}`);
    return false;
  }
  const seen = (kind) => stdout.split('\n').flatMap((line) => (line.startsWith(`${kind} `) ? line.slice(6) : []));
  const row = { client: 'JDBC', version: DRIVER.version, through: '', works: seen('works'), lacks: seen('lacks') };
  return recordClients('jdbc', [row]);
}

const server = await startServer();
const isRight = runProgram('Session.java', [server.grpc], { expected: EXPECTED });
const isRecorded = runClients(server.grpc);
await server.stop();
const { grpc, folder, token, stop } = await startTlsServer();
const options = { expected: TLS_EXPECTED, env: { SVC_TOKEN: token } };
const isRightWithTls = runProgram('TlsSession.java', [grpc, folder], options) && runExample();
await stop();

/** Runs the Java program of docs/clients.md. */
function runExample() {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const [, program = '', shown] = /^```java\n(.*?)^```\n\n^```text\n(.*?)^```$/ms.exec(page) ?? [];
  const code = program.replace('localhost:50052', grpc).replace('ca.pem', join(folder, 'ca.pem'));
  const file = join(folder, 'Example.java');
  writeFileSync(file, code);
  return runProgram(pathToFileURL(file), [], { expected: shown, env: { SVC_TOKEN: token } });
}
process.exit(isRight && isRecorded && isRightWithTls ? 0 : 1);
