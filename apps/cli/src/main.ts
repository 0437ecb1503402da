import { homedir } from 'node:os';
import { InterruptedError } from './cli-error.ts';
import { createOutput } from './output.ts';
import { runCli } from './run-cli.ts';

const controller = new AbortController();
for (const [signal, kind] of [
  ['SIGINT', 'interrupted'],
  ['SIGTERM', 'terminated'],
] as const) {
  process.once(signal, () => {
    // A server that runs in this process listens too, and stops in its own way.
    if (process.listenerCount(signal) === 0) controller.abort(new InterruptedError(kind));
  });
}

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
