// Runs the Flight SQL JDBC driver and the Flight SQL client of Arrow Java against a real server, and compares what they print.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../tools/server-process.js';
import { startTlsServer } from '../../tools/tls-server.js';
import { JDBC_VERSION, provideJdbcDriver } from '../jdbc-driver.js';
import { provideJars } from '../provide-jar.js';
import { recordClients, seenIn } from '../record-clients.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));

const CLIENT = {
  pom: join(HERE, 'pom.xml'),
  version: '18.3.0',
  sha256: 'c45dc314d723d4871dc9d5503667647e4b1e234b8bd609f24b52fb646dac87c5',
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

// The driver has its own copy of the client, under other names.
const classPath = [provideJdbcDriver(), join(provideJars('flight-sql-client', CLIENT), '*')].join(delimiter);

/** Short programs spend most of their time in the compilers of Java. */
const QUICK_START = '-XX:TieredStopAtLevel=1';

function run(command, args, { cwd, env }) {
  return spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 600_000, env: { ...process.env, ...env } });
}

function runJava(args, { cwd = HERE, env = {} } = {}) {
  const options = ['--add-opens=java.base/java.nio=ALL-UNNAMED', QUICK_START, '-Duser.timezone=UTC', '-cp', classPath];
  return run('java', [...options, ...args], { cwd, env });
}

/** Returns whether a program printed what it should. */
function isExpected(name, { status, stdout, stderr, error }, expected) {
  const isRight = status === 0 && stdout === expected;
  if (error) console.error(`${name} could not be run, which needs Java 17 or newer: ${error.message}`);
  else if (isRight) console.error(`${name} printed what it should.`);
  else console.error(`Expected of ${name}:\n${expected}\nPrinted:\n${stdout}${stderr}`);
  return isRight;
}

/** Returns the row of a client in docs/clients.md, which its program has printed; undefined if that failed. */
function rowOf(client, version, { status, stdout, stderr }) {
  if (status === 0) return { client, version, through: '', ...seenIn(stdout) };
  console.error(`The program of ${client} failed:\n${stdout}${stderr}`);
  return undefined;
}

function runClients(grpc) {
  const rows = [
    rowOf('JDBC', JDBC_VERSION, runJava(['Clients.java', grpc])),
    rowOf('Java `FlightSqlClient`', CLIENT.version, runJava(['JavaClients.java', grpc])),
  ];
  return rows.every((row) => row !== undefined) && recordClients('jdbc', rows);
}

/** The Java programs of docs/clients.md, with what they print. */
function readExamples() {
  const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
  const shape = /^```java\n(?<program>.*?)^```\n\n^```text\n(?<shown>.*?)^```$/gms;
  const found = [...page.matchAll(shape)].map(({ groups }) => groups);
  if (found.length !== page.split('\n```java\n').length - 1) throw new Error('A program has no output.');
  return found;
}

/** Runs the Java programs of docs/clients.md, as they are but for the port, with TLS and a token. */
function runExamples({ grpc, folder, token }) {
  const results = readExamples().map(({ program, shown }, i) => {
    const name = `Example${i}.java`;
    writeFileSync(join(folder, name), program.replace(/\b50052\b/, grpc.split(':').at(-1)));
    const result = runJava([name], { cwd: folder, env: { SVC_TOKEN: token } });
    return isExpected(`Java program ${i + 1} of the page`, result, shown);
  });
  return results.every(Boolean);
}

const server = await startServer();
const isRight = isExpected('Session.java', runJava(['Session.java', server.grpc]), EXPECTED);
const isRecorded = runClients(server.grpc);
await server.stop();
const tls = await startTlsServer();
const session = runJava(['TlsSession.java', tls.grpc, tls.folder], { env: { SVC_TOKEN: tls.token } });
const isRightWithTls = isExpected('TlsSession.java', session, TLS_EXPECTED);
const areExamplesRight = runExamples(tls);
await tls.stop();
process.exit(isRight && isRecorded && isRightWithTls && areExamplesRight ? 0 : 1);
