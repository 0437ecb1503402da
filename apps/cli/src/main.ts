import { homedir } from 'node:os';
import { CliError, InterruptedError } from './errors/cli-error.ts';
import { createOutput } from './output/output.ts';
import { packageVersion } from './package-version.ts';
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

// Nothing is left that could go on, and the command waits all the same: Node would end here with a code of its own, and
// without a word.
process.once('beforeExit', () => {
  controller.abort(
    new CliError('unreachable', 'svc cannot go on: what it waits for will never come.', {
      hint: 'Look whether the command was carried out before you repeat it. This is a fault of svc: please report it.',
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
  // All output has been taken by now; a read or a connection that is still open must not keep the process.
  process.exit(exitCode);
});
