import { homedir } from 'node:os';
import { CliError, InterruptedError } from './errors.ts';
import { createOutput } from './output/output.ts';
import { packageVersion, runCli } from './run-cli.ts';

const controller = new AbortController();
for (const [signal, kind] of [
  ['SIGINT', 'interrupted'],
  ['SIGTERM', 'terminated'],
] as const) {
  process.once(signal, () => {
    // A server in this process has its own signal handler and shuts down by itself.
    if (process.listenerCount(signal) === 0) controller.abort(new InterruptedError(kind));
  });
}

// The event loop is empty but the command has not finished. Node would exit here with its own code and no message.
process.once('beforeExit', () => {
  controller.abort(
    new CliError('unreachable', 'Internal error: svc has no pending work but has not finished.', {
      hint: 'Check whether the command took effect before you repeat it. This is a bug in svc: please report it.',
    }),
  );
});

void runCli(process.argv.slice(2), {
  version: packageVersion(),
  env: process.env,
  homeDir: homedir(),
  stdin: process.stdin,
  stdout: createOutput(process.stdout),
  stderr: createOutput(process.stderr),
  ...(process.stdin.isTTY && process.stdout.isTTY && { terminal: { input: process.stdin, output: process.stdout } }),
  signal: controller.signal,
}).then((exitCode) => {
  // All output is written; an open read or connection must not keep the process alive.
  process.exit(exitCode);
});
