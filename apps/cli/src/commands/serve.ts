import type { CommandOption, Program } from '../args/command.ts';
import { CONFIG_OPTION, NAMED_SETTINGS } from '../args/server-config.ts';

const MAX_PLACEHOLDER = 16;

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
  usage: [],
  options: {
    ...Object.fromEntries(SETTING_OPTIONS),
    config: CONFIG_OPTION,
    'print-config': { summary: 'Print every setting as a TOML file, and exit.' },
    version: { summary: 'Print the version of the server, and exit.' },
  },
  notes: ['svc help settings describes all settings, also those without a flag.'],
  async run(argv) {
    // Imported lazily: the other commands start faster without it.
    const { runServer } = await import('@svc/server');
    return runServer(argv, { command: 'svc serve' });
  },
};
