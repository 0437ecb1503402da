import { spawn } from 'node:child_process';
import { parseArguments } from '../args/arguments.ts';
import type { CommandOption, Context, Program } from '../args/command.ts';
import { CONFIG_OPTION, NAMED_SETTINGS } from '../args/server-config.ts';
import { put } from './put.ts';
import { CliError, EXIT } from '../errors.ts';
import { printError } from '../output/output.ts';

const MAX_PLACEHOLDER = 16;
const OPEN = 'open';
const PRINTING = ['--print-config, --version', 'Print settings or version, and exit.'] as const;

const SETTING_OPTIONS = NAMED_SETTINGS.flatMap(({ key, setting }): readonly [string, CommandOption][] => {
  const { flag, type, default: plain, derived } = setting;
  if (flag === undefined) return [];
  const value = derived?.describe.replaceAll('`', '') ?? (plain === undefined ? 'not set' : type.toText(plain));
  const placeholder = type.placeholder.length > MAX_PLACEHOLDER ? key : type.placeholder;
  return [[flag, { value: `<${placeholder}>`, summary: `Default: ${value}.` }]];
});

/** `svc serve`: runs the server in this process. */
export const serve: Program = {
  kind: 'program',
  name: 'serve',
  summary: 'Run a server in this process, until Ctrl-C.',
  usage: ['[file]...'],
  options: {
    ...Object.fromEntries(SETTING_OPTIONS),
    config: CONFIG_OPTION,
    'print-config': { summary: 'Print every setting as a TOML file, and exit.', line: PRINTING },
    version: { summary: 'Print the version of the server, and exit.', line: PRINTING },
    [OPEN]: { summary: 'Open the console in the browser.' },
  },
  notes: [
    'Each file becomes a frame with its name: svc serve trades.csv --open',
    'svc help settings describes all settings, also those without a flag.',
  ],
  async run(argv, context) {
    const { files, hasOpen, rest } = splitWords(argv);
    // Imported lazily: the other commands start faster without it.
    const { runServer } = await import('@svc/server');
    return runServer(rest, {
      command: 'svc serve',
      onReady: async (addresses) => {
        const code = await putFiles(files, addresses.http, context);
        if (code === EXIT.ok && hasOpen) await openConsole(addresses.console, context);
        return code;
      },
    });
  },
};

/** Separates the files from the flags of the server: it parses those itself. */
function splitWords(argv: readonly string[]): { files: string[]; hasOpen: boolean; rest: string[] } {
  const files: string[] = [];
  const rest: string[] = [];
  let hasOpen = false;
  const words = [...argv];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') files.push(...words.splice(0));
    else if (word === `--${OPEN}`) hasOpen = true;
    else if (!word.startsWith('-')) files.push(word);
    else {
      rest.push(word);
      const takesValue = serve.options[word.slice(2)]?.value !== undefined;
      if (takesValue) rest.push(...words.splice(0, 1));
    }
  }
  return { files, hasOpen, rest };
}

/** Puts each file as `svc put` does; returns the exit code of the first failure, else 0. */
async function putFiles(files: readonly string[], url: string, context: Context): Promise<number> {
  for (const file of files) {
    try {
      const args = parseArguments(put, [`--url=${url}`, '--', file]);
      if (args !== undefined) await put.run(args, context);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      await printError(error, context.stderr);
      return error.exitCode;
    }
  }
  return EXIT.ok;
}

async function openConsole(url: string | undefined, { stderr }: Context): Promise<void> {
  if (url === undefined) {
    await stderr.write('The console is off: http.console is false.\n');
  } else if (!(await openBrowser(url))) {
    await stderr.write(`No browser could be opened. The console is at ${url}\n`);
  }
}

/** Opens a URL in the browser of the user; false if there is no program for it. */
function openBrowser(url: string): Promise<boolean> {
  const [program, ...args] = openerOf(process.platform);
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false));
    // Some openers run as long as the browser.
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

function openerOf(platform: NodeJS.Platform): readonly [program: string, ...args: string[]] {
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? ['explorer'] : ['xdg-open'];
}
