import { describeSource, type LoadedConfig, type SettingValue, type Source } from '@svc/config';
import type { Command } from '../args/command.ts';
import { CONFIG_OPTION, findingText, loadServerConfig, NAMED_SETTINGS } from '../args/server-config.ts';
import { CliError } from '../errors.ts';
import type { Output } from '../output/output.ts';
import { createTablePrinter } from '../output/table-printer.ts';
import { formatCount, visibleText } from '../text.ts';

const COLUMNS = ['setting', 'value', 'source'].map((name) => ({ name, isNumeric: false }));
const HIDDEN = '***';

/** `svc config`: prints the settings of a server on this machine. */
export const config: Command = {
  kind: 'command',
  name: 'config',
  summary: 'Print the settings a server would have here.',
  usage: [],
  options: {
    config: CONFIG_OPTION,
    json: { summary: 'Print an array of objects: setting, value, source.' },
  },
  notes: [
    'Each with the source of its value: variable, file or default. null means not',
    'set; secrets are hidden. svc help settings describes each setting. No server is',
    'contacted. If there are problems, all are printed, and the exit code is 2.',
  ],
  async run(args, context) {
    const loaded = loadServerConfig(args, context);
    if (loaded.kind === 'problems') {
      throw new CliError('usage', `The configuration has ${formatCount(loaded.problems.length, 'problem')}.`, {
        details: loaded.problems.flatMap((problem) => [`  ${findingText(problem)}`, `    ${problem.hint}`]),
        hint: 'svc help settings lists the settings and their valid values.',
      });
    }
    for (const warning of loaded.warnings) {
      await context.stderr.write(`warning: ${visibleText(findingText(warning))}\nhint: ${visibleText(warning.hint)}\n`);
    }
    await (args.has('json') ? printJson(loaded, context.stdout) : printTable(loaded, context.stdout));
  },
};

interface Row {
  readonly setting: string;
  readonly value: string | number | boolean | readonly string[] | null;
  readonly text: string | null;
  readonly source: string;
}

function rowsOf(loaded: LoadedConfig): readonly Row[] {
  const values: Nested<SettingValue | undefined> = loaded.config;
  const sources: Nested<Source> = loaded.sources;
  return NAMED_SETTINGS.map(({ section, key, setting: { type, secret } }) => {
    const value = values[section]?.[key];
    const source = describeSource(sources[section]?.[key] ?? { kind: 'default' });
    const setting = `${section}.${key}`;
    if (value === undefined) return { setting, value: null, text: null, source };
    if (secret === true) return { setting, value: HIDDEN, text: HIDDEN, source };
    const text = type.toText(value);
    return { setting, value: typeof value === 'object' && 'host' in value ? text : value, text, source };
  });
}

type Nested<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;

async function printTable(loaded: LoadedConfig, output: Output): Promise<void> {
  const printer = createTablePrinter(COLUMNS, output, { more: 'use svc config --json' });
  await printer.add(rowsOf(loaded).map(({ setting, text, source }) => [setting, text, source]));
  await printer.end();
}

async function printJson(loaded: LoadedConfig, output: Output): Promise<void> {
  const rows = rowsOf(loaded).map(({ setting, value, source }) => JSON.stringify({ setting, value, source }));
  await output.write(`[\n${rows.join(',\n')}\n]\n`);
}
