import { homedir } from 'node:os';
import { createOutput } from './output.ts';
import { runCli } from './run-cli.ts';

const controller = new AbortController();
process.once('SIGINT', () => controller.abort());

const exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  homeDir: homedir(),
  stdin: process.stdin,
  stdout: createOutput(process.stdout),
  stderr: createOutput(process.stderr),
  signal: controller.signal,
});
// All output has been taken by now; a read or a connection that is still open must not keep the process.
process.exit(exitCode);
