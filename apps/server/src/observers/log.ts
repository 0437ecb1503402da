import type { Config } from '@svc/config';
import { type ConsolaInstance, createConsola, type LogObject } from 'consola/core';

/** The fields of a log line, besides its message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes lines to standard error: text on a terminal, JSON elsewhere, or as configured. */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** Whether `debug` lines are written; if not, callers can skip building them. */
  readonly isDebugging: boolean;
  /** Writes a line at every level, even `off`. */
  always(message: string, fields?: LogFields): void;
}

/** consola counts errors as 0 and traces as 5; -1 is silence. */
const LEVELS: Record<Config['logging']['level'], number> = { off: -1, error: 0, warn: 1, info: 3, debug: 4, trace: 5 };
const EVERYTHING = 5;

/** Creates a log with the configured level and format. */
export function createLog({ level, format }: Pick<Config['logging'], 'format' | 'level'>): Log {
  const line = format === 'json' ? jsonLine : textLine;
  const reporter = { log: (entry: LogObject) => void process.stderr.write(`${line(entry)}\n`) };
  const leveled = createConsola({ level: LEVELS[level], reporters: [reporter], throttle: 0 });
  const always = createConsola({ level: EVERYTHING, reporters: [reporter], throttle: 0 });
  const write =
    (consola: ConsolaInstance, type: 'error' | 'warn' | 'info' | 'debug') =>
    (message: string, fields: LogFields = {}): void =>
      consola[type]({ message, fields });
  return {
    error: write(leveled, 'error'),
    warn: write(leveled, 'warn'),
    info: write(leveled, 'info'),
    debug: write(leveled, 'debug'),
    isDebugging: LEVELS[level] >= LEVELS.debug,
    always: write(always, 'info'),
  };
}

function jsonLine({ date, type, args, fields }: LogObject): string {
  return JSON.stringify({ time: date.toISOString(), level: type, message: messageOf(args), ...fieldsOf(fields) });
}

function textLine({ date, type, args, fields }: LogObject): string {
  const pairs = Object.entries(fieldsOf(fields)).map(([name, value]) => ` ${name}=${textValue(value)}`);
  return `${date.toISOString()} ${type.toUpperCase().padEnd(5)} ${messageOf(args)}${pairs.join('')}`;
}

/** consola moves the message to the front of the arguments. */
function messageOf([message]: readonly unknown[]): string {
  return typeof message === 'string' ? message : '';
}

/** consola passes unknown members on without a type. */
function fieldsOf(fields: unknown): object {
  return typeof fields === 'object' && fields !== null ? fields : {};
}

function textValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return /[\s"]/.test(text) ? JSON.stringify(text) : text;
}
