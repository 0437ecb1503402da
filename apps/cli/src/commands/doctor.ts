import { clientOptions, TLS_OPTIONS, TOKEN_FILE_OPTION, URL_OPTION } from '../args/client-options.ts';
import type { Arguments, Command, Context } from '../args/command.ts';
import { CONFIG_OPTION, loadServerConfig } from '../args/server-config.ts';
import type { Diagnosis } from '../doctor/local-checks.ts';
import { EXIT } from '../errors.ts';
import { findDirectory } from '../frames/find-directory.ts';
import type { Output } from '../output/output.ts';
import { visibleText } from '../text.ts';

/** `svc doctor`: finds problems of a server or of `svc` here, and advises on each. */
export const doctor: Command = {
  kind: 'command',
  name: 'doctor',
  summary: 'Check what a server needs here, with advice.',
  usage: [],
  takesDirectory: (words) => words.length > 0,
  options: { config: CONFIG_OPTION, 'token-file': TOKEN_FILE_OPTION, ...TLS_OPTIONS, url: URL_OPTION },
  notes: [
    'Checks Node, the configuration, the ports of both listeners, the permissions of',
    'the data directories, the callers file, the certificate, the time-series',
    'database and the cluster (by select 1), and the server that svc talks to.',
    'Prints a line for each: ok, warning or problem, and advice.',
    '',
    'With a directory of frames it verifies the checksums of all files instead, even',
    'while a server holds the directory, and changes nothing.',
    '',
    'Exit codes: 0 all is well, 4 warnings, 1 problems.',
  ],
  async run(args, context) {
    const found = args.directory === undefined ? await checkMachine(args, context) : await checkFrames(args, context);
    await printDiagnoses(found, context.stdout);
    const isThere = (status: Diagnosis['status']): boolean => found.some((diagnosis) => diagnosis.status === status);
    if (isThere('problem')) return EXIT.refused;
    return isThere('warning') ? EXIT.warned : EXIT.ok;
  },
};

async function checkMachine(args: Arguments, context: Context): Promise<readonly Diagnosis[]> {
  const client = clientOptions(args, context);
  const isNamed = args.has('url') || Boolean(context.env['SVC_URL']);
  // Imported lazily: the other commands start faster without it.
  const { runChecks } = await import('../doctor/run-checks.ts');
  return runChecks(loadServerConfig(args, context), { client, isNamed, version: context.version });
}

async function checkFrames({ directory = '' }: Arguments, context: Context): Promise<readonly Diagnosis[]> {
  const found = await findDirectory(directory, context.homeDir);
  // Imported lazily: it loads the engine.
  const { verifyDirectory } = await import('../doctor/verify-directory.ts');
  return verifyDirectory(found, directory, context.signal);
}

const COLOURS = { ok: 32, warning: 33, problem: 31 } as const;

async function printDiagnoses(diagnoses: readonly Diagnosis[], output: Output): Promise<void> {
  const lines = diagnoses.map(({ status, text, advice }) => {
    const padded = status.padEnd('problem'.length);
    const shown = output.isStyled ? `\u001b[${COLOURS[status]}m${padded}\u001b[39m` : padded;
    return `${shown}  ${visibleText(advice === undefined ? text : `${text} ${advice}`)}\n`;
  });
  await output.write(lines.join(''));
}
