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
  /** `debug` lines are written; if not, callers can skip building them. */
  readonly isDebugging: boolean;
  /** Writes a line at every level, even `off`. */
  always(message: string, fields?: LogFields): void;
}

/** consola counts errors as 0 and traces as 5; -1 is silence. */
const LEVELS: Record<Config['logging']['level'], number> = { off: -1, error: 0, warn: 1, info: 3, debug: 4, trace: 5 };
const EVERYTHING = 5;

/** What identifies this server in the log of many; in every line of JSON. */
export interface LogIdentity {
  readonly service: string;
  readonly version: string;
  /** Distinguishes the servers of one service. */
  readonly instance: string;
}

/** Creates a log with the configured level and format. */
export function createLog({ level, format }: Pick<Config['logging'], 'format' | 'level'>, identity?: LogIdentity): Log {
  const line = format === 'json' ? (entry: LogObject) => jsonLine(entry, identity) : textLine;
  const reporter = { log: (entry: LogObject) => void process.stderr.write(`${escaped(line(entry))}\n`) };
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

/** Collectors cut or drop longer lines, and what is cut is not JSON any more. */
const MAX_LINE_BYTES = 16 * 1024;
/** Texts are cut to this length in a long line. */
const CUT_LENGTH = 1024;
/** The fields to connect a line with others: in every line, but cut to this length. */
const ID_FIELDS: ReadonlySet<string> = new Set(['requestId', 'traceId']);
const CUT_ID_LENGTH = 256;

function jsonLine({ date, type, args, fields }: LogObject, identity: LogIdentity | undefined): string {
  const head = { time: date.toISOString(), level: type, message: messageOf(args), ...identity };
  const line = JSON.stringify({ ...head, ...fieldsOf(fields) });
  if (Buffer.byteLength(line) <= MAX_LINE_BYTES) return line;
  const message = cut(head.message);
  const short = Object.entries(fieldsOf(fields)).map(([name, value]) => [name, shortened(value)] as const);
  const cutLine = JSON.stringify({ ...head, message, ...Object.fromEntries(short), isCut: true });
  if (Buffer.byteLength(cutLine) <= MAX_LINE_BYTES) return cutLine;
  const ids = short.flatMap(([name, value]) =>
    ID_FIELDS.has(name) && typeof value === 'string' ? [[name, cut(value, CUT_ID_LENGTH)] as const] : [],
  );
  return JSON.stringify({ ...head, message, ...Object.fromEntries(ids), isCut: true });
}

/** Shortens a value of a long line: texts are cut, and long objects are left out. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  return (JSON.stringify(value) ?? '').length > CUT_LENGTH ? undefined : value;
}

function cut(text: string, length = CUT_LENGTH): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

function textLine({ date, type, args, fields }: LogObject): string {
  const given = Object.entries(fieldsOf(fields)).filter(([, value]) => value !== undefined);
  const pairs = given.map(([name, value]) => ` ${name}=${textValue(value)}`);
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
  return /[\s"\p{Cc}]/u.test(text) ? JSON.stringify(text) : text;
}

/** JSON leaves the control characters from U+007F to U+009F as they are, and some terminals obey them. */
function escaped(line: string): string {
  return line.replaceAll(/[\u007f-\u009f]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

/** Rounds milliseconds to microseconds. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
