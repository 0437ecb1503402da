import { isLongType } from './column-types.ts';
import type { Column, Row, Value } from './table-types.ts';
import { type Longs, longOf, parseExact, textOf } from './exact-json.ts';
import { shown, TableError } from './table-error.ts';

/** Returns a function that makes a row of the texts of its cells. */
export function rowReader(columns: readonly Column[], longs: Longs): (cells: readonly string[]) => Row {
  const readers = columns.map(({ type }) => valueReader(type, longs));
  return (cells) => {
    const row: Record<string, Value> = {};
    for (let i = 0; i < columns.length; i += 1) {
      const name = columns[i]?.name ?? '';
      const text = cells[i] ?? 'null';
      const value = text === 'null' ? null : (readers[i]?.(text) ?? null);
      if (name === '__proto__') Object.defineProperty(row, name, { value, enumerable: true });
      else row[name] = value;
    }
    return row;
  };
}

const NUMBER = /^(?:BYTE|SHORT|INT|FLOAT|DOUBLE)$/;
const DIGITS = /^-?\d+$/;

function valueReader(type: string, longs: Longs): (text: string) => Value {
  if (isLongType(type)) {
    return (text) => {
      const digits = stringOf(text) ?? text;
      if (!DIGITS.test(digits)) throw new TableError(`${shown(text)} is not an integer`);
      return longOf(digits, longs);
    };
  }
  if (NUMBER.test(type)) {
    return (text) => {
      const value = Number(text);
      if (Number.isNaN(value)) throw new TableError(`${shown(text)} is not a number`);
      return value;
    };
  }
  // The time-series database sends decimals without quotes.
  if (type.startsWith('DECIMAL')) return (text) => stringOf(text) ?? text;
  return (text) => stringOf(text) ?? parseExact(text, longs);
}

/** Returns the text in a JSON string; undefined if it is another value. */
export function stringOf(json: string): string | undefined {
  if (!json.startsWith('"')) return undefined;
  // Most strings have no escapes and need no parsing.
  if (!json.includes('\\') && json.indexOf('"', 1) === json.length - 1) return json.slice(1, -1);
  return textOf(parseExact(json, 'bigint'));
}
