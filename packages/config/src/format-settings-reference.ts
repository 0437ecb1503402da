import { describeDefault, describeSetting } from './describe-setting.ts';
import { createServiceNames, type ServiceNames } from './service-names.ts';
import { rowsOf, SECTIONS, type SettingRow } from './setting-rows.ts';

/** The reference of all settings as a Markdown document: rules, a table for each section, an example file. */
export function formatSettingsReference({ name }: { readonly name: string }): string {
  const names = createServiceNames(name);
  return [
    '# Configuration',
    ...rules(names),
    '## Settings',
    ...SECTIONS.flatMap((section) => [`### \`[${section}]\``, sectionTable(section, names)]),
    '## Example file',
    `Every setting with its default; those without a plain default or without an effect are commented out. Save it as \`${names.defaultFile}\`.`,
    `\`\`\`toml\n${formatExampleFile()}\`\`\``,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

function rules({ prefix, fileVariable, defaultFile }: ServiceNames): readonly string[] {
  return [
    'A setting takes its value from the first of these that has one:',
    [
      '1. a flag: `--grpc-port 50052` or `--grpc-port=50052`, each at most once',
      `2. an environment variable: \`${prefix}GRPC_PORT=50052\`; an empty variable counts as not set`,
      `3. the TOML file: the one named by \`--config <file>\`, else by \`${fileVariable}\`, else \`${defaultFile}\` if it is there`,
      '4. the default',
    ].join('\n'),
    'Where a setting has two variables, the first one named in its table wins.',
    [
      '- `--print-config` prints every setting with where its value came from, as a TOML file, and exits; secrets are hidden.',
      '- `--help` and `--version` print what their names say and exit.',
      '- A value that is not right, an unknown flag, a named file that cannot be read and a file that is not TOML stop the start with exit code 2. All problems are reported at once. Only the value that wins is checked.',
      `- An unknown key of the file and an unknown variable that begins with \`${prefix}\` are ignored with a warning.`,
      '- Switches are `true` or `false`; in variables `1`, `0`, `yes`, `no`, `on` and `off` will do too. Words may be in any letter case.',
      '- Relative paths start from the directory the server was started in. The file may have 64 KiB.',
    ].join('\n'),
  ];
}

function sectionTable(section: string, names: ServiceNames): string {
  const rows = rowsOf(section).map((row) => [
    code(row.key),
    names
      .variablesOf(row)
      .map((variable) => code(variable.name))
      .join(', '),
    row.setting.flag === undefined ? '' : code(`--${row.setting.flag}`),
    describeDefault(row.setting) ?? 'not set',
    describeSetting(row.setting),
  ]);
  return markdownTable([['Key', 'Variable', 'Flag', 'Default', 'Meaning'], ...rows]);
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Columns are padded, as formatters of Markdown want them. */
function markdownTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].join('\n');
}

/** A TOML file with every setting, what it is for, and its default or, commented out, an example. */
function formatExampleFile(): string {
  return SECTIONS.map((section) =>
    [`[${section}]`, ...rowsOf(section).flatMap((row) => exampleLines(row)), ''].join('\n'),
  ).join('\n');
}

function exampleLines({
  key,
  setting: { type, default: value, description, derived, example },
}: SettingRow): readonly string[] {
  const isPlain = value !== undefined && derived === undefined;
  return [`# ${description}`, isPlain ? `${key} = ${type.toToml(value)}` : `# ${key} = ${type.toToml(example)}`];
}
