// Runs a session of the Flight SQL JDBC driver against a real server, and compares its output.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../tools/server-process.js';
import { provideJar } from '../provide-jar.js';

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
Data-frame server false false
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

const driver = provideJar(DRIVER);
const server = await startServer();
const session = fileURLToPath(new URL('Session.java', import.meta.url));
const options = ['--add-opens=java.base/java.nio=ALL-UNNAMED', '-Duser.timezone=UTC', '-cp', driver];
const { status, stdout, stderr, error } = spawnSync('java', [...options, session, server.grpc], {
  encoding: 'utf8',
  timeout: 120_000,
});
await server.stop();
if (error) console.error(`Java 17 or newer is needed, and could not be started: ${error.message}`);
else if (status !== 0 || stdout !== EXPECTED) console.error(`Expected:\n${EXPECTED}\nPrinted:\n${stdout}${stderr}`);
else console.error('The session of the JDBC driver printed what it should.');
process.exit(status === 0 && stdout === EXPECTED ? 0 : 1);
