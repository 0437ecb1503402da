import {
  addToken,
  CallersFileError,
  loadCallers,
  type Permission,
  PERMISSIONS,
  removeToken,
  type TokenCaller,
} from '@svc/auth';
import { parseTenant } from '../args/client-options.ts';
import type { Arguments, Command, Context } from '../args/command.ts';
import { CONFIG_OPTION, findingText, loadServerConfig } from '../args/server-config.ts';
import { CliError, errorCode } from '../errors.ts';
import { createTablePrinter } from '../output/table-printer.ts';

const COLUMNS = ['id', 'tenant', 'permissions', 'expires', 'note'].map((name) => ({ name, isNumeric: false }));

/** `svc token`: creates, lists and revokes the tokens in a callers file. */
export const token: Command = {
  kind: 'command',
  name: 'token',
  summary: 'create, list or revoke the tokens of a server.',
  usage: ['<action>', '[id]'],
  options: {
    tenant: { value: '<name>', summary: 'Tenant of a new token.' },
    permissions: { value: '<list>', summary: 'Of read, write, tsdb, scheduler, admin.' },
    expires: { value: '<time>', summary: 'When a new token expires. Default: never.' },
    note: { value: '<text>', summary: 'What a new token is for.' },
    file: { value: '<file>', summary: 'Callers file. Default: auth.callers_file.' },
    config: CONFIG_OPTION,
    json: { summary: 'list: print an array of objects.' },
  },
  notes: [
    'create prints the new token once; the file has only its hash, and is created if',
    'it is missing. A server sees a change of its file within 5 seconds.',
    '',
    'Examples:',
    '  svc token create --tenant alpha --permissions read,write --expires 90d',
    '  svc token list --file callers.toml',
    '  svc token revoke t-k3m9xq',
  ],
  async run(args, context) {
    const [action = '', id] = args.positionals;
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (run === undefined) {
      throw new CliError('usage', `svc token has no action ${JSON.stringify(action)}.`, {
        hint: 'Write svc token create, svc token list or svc token revoke <id>.',
      });
    }
    if ((id === undefined) === (action === 'revoke')) {
      throw new CliError(
        'usage',
        id === undefined ? 'svc token revoke needs an id.' : `svc token ${action} takes no id.`,
        {
          hint: 'svc token list shows the ids.',
        },
      );
    }
    try {
      await run(args, context);
    } catch (error) {
      throw fileError(error);
    }
  },
};

const ACTIONS: Readonly<Record<string, (args: Arguments, context: Context) => Promise<void>>> = {
  async create(args, context) {
    const tenant = args.text('tenant');
    const permissions = args.text('permissions');
    if (tenant === undefined || permissions === undefined) {
      throw new CliError('usage', `svc token create needs ${tenant === undefined ? '--tenant' : '--permissions'}.`, {
        hint: 'For example: svc token create --tenant alpha --permissions read,write',
      });
    }
    const expires = args.text('expires');
    const text = await addToken(callersFile(args, context), {
      tenant: parseTenant(tenant),
      permissions: parsePermissions(permissions),
      expires: expires === undefined ? undefined : parseExpiry(expires, Date.now()),
      note: args.text('note'),
    });
    await context.stdout.write(`${text}\n`);
  },

  async list(args, context) {
    const { tokens } = await loadCallers(callersFile(args, context));
    const rows = [...tokens.values()].map(rowOf);
    if (args.has('json')) {
      await context.stdout.write(`[${rows.map((row) => `\n${JSON.stringify(row)}`).join(',')}\n]\n`);
      return;
    }
    const printer = createTablePrinter(COLUMNS, context.stdout, { more: 'use svc token list --json' });
    await printer.add(
      rows.map((row) => [row.id, row.tenant, row.permissions.join(','), row.expires ?? 'never', row.note ?? '']),
    );
    await printer.end();
  },

  async revoke(args, context) {
    const [, id = ''] = args.positionals;
    await removeToken(callersFile(args, context), id);
    await context.stderr.write(`Revoked ${id}. A running server refuses it within 5 seconds.\n`);
  },
};

function rowOf({ id, tenant, permissions, expires, note }: TokenCaller) {
  return { id, tenant, permissions: [...permissions], expires: expires?.toISOString() ?? null, note: note ?? null };
}

/** Parses a list of permissions: `read,write`. */
function parsePermissions(text: string): readonly Permission[] {
  const words = text.split(',').map((word) => word.trim());
  const permissions = PERMISSIONS.filter((name) => words.includes(name));
  if (permissions.length === words.length) return permissions;
  throw new CliError('usage', `--permissions ${JSON.stringify(text)} is not a list of permissions.`, {
    hint: `Write --permissions read,write; there are ${PERMISSIONS.join(', ')}.`,
  });
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 };

/** Parses a time from now, such as `90d`, or a time with a zone. */
function parseExpiry(text: string, nowMs: number): Date {
  const [, count, unit = ''] = /^(\d{1,4})([hdwy])$/.exec(text) ?? [];
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const time =
    count === undefined ? new Date(isTime ? text : NaN) : new Date(nowMs + Number(count) * (UNIT_MS[unit] ?? NaN));
  if (time.getTime() > nowMs && time.getUTCFullYear() <= 9999) return time;
  throw new CliError('usage', `--expires ${JSON.stringify(text)} is not a time in the future.`, {
    hint: 'Write a number of hours, days, weeks or years (12h, 90d, 4w, 1y), or a time (2027-01-01T00:00:00Z).',
  });
}

/** Returns the path of the callers file: from the flag, else from the settings of the server. */
function callersFile(args: Arguments, context: Context): string {
  const given = args.text('file');
  if (given !== undefined) return given;
  const loaded = loadServerConfig(args, context);
  const [problem] = loaded.kind === 'problems' ? loaded.problems : [];
  const path = loaded.kind === 'config' ? loaded.config.auth.callers_file : undefined;
  if (path !== undefined) return path;
  throw new CliError('usage', problem === undefined ? 'No callers file is named.' : findingText(problem), {
    hint: 'Name it with --file, or with the setting auth.callers_file.',
  });
}

/** Converts an error about the file to one for the user. */
function fileError(error: unknown): Error {
  if (error instanceof CallersFileError) {
    return new CliError('usage', error.message, { hint: 'Name another file with --file.', cause: error });
  }
  const code = error instanceof CliError ? undefined : errorCode(error);
  if (code === undefined) return error instanceof Error ? error : new Error(String(error));
  return new CliError('usage', `The callers file cannot be written: the system says ${code}.`, {
    hint: 'Check the folder and its permissions.',
    cause: error,
  });
}
