import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { DeclaredColumn } from '@svc/frames';

/** One column and the separator after it. The comma in `px:DECIMAL(18,4)` belongs to the type. */
const COLUMN = /(?:"((?:[^"]|"")*)"|([^",()]*:[A-Za-z]\w*\([0-9 ]*,[0-9 ]*\)|[^",]*))(,|$)/y;
const NAME_AND_TYPE = /^(.+):([A-Za-z][A-Za-z0-9_]*(?:\([0-9, ]*\))?)$/s;

/**
 * Parses `columns`: comma-separated names, each with or without a type (`id:LONG`). A column with a comma or a quote in
 * its name is in double quotes, with `""` for `"`.
 */
export function parseDeclaredColumns(text: string): readonly DeclaredColumn[] {
  const columns = new Map<string, DeclaredColumn>();
  const pattern = new RegExp(COLUMN);
  while (pattern.lastIndex <= text.length) {
    const [, inQuotes, plain, separator] = pattern.exec(text) ?? [];
    const column = inQuotes?.replaceAll('""', '"') ?? plain;
    if (!column) {
      throw new ServiceError('invalid_argument', `columns=${quoted(text)} is not a list of columns.`, {
        hint: 'Write columns=id:LONG,name; put a name with a comma or a quote in double quotes, and write "" for a quote.',
      });
    }
    const [, name = column, type] = NAME_AND_TYPE.exec(column) ?? [];
    if (columns.has(name)) {
      throw new ServiceError('invalid_argument', `columns=${quoted(text)} names the column ${quoted(name)} twice.`, {
        hint: 'Name each column once.',
      });
    }
    columns.set(name, { name, ...(type !== undefined && { type }) });
    if (separator === '') break;
  }
  return [...columns.values()];
}
