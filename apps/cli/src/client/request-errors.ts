import * as v from 'valibot';
import { REFUSAL } from './server-responses.ts';
import { CliError, errorCode } from '../errors.ts';
import { cutText, cutTextLeft, textWidth, visibleText } from '../text.ts';

/** The abort reason after a timeout. */
export class ResponseTimeoutError extends Error {
  override readonly name = 'ResponseTimeoutError';

  constructor(timeoutMs: number) {
    super(`the server did not answer within ${timeoutMs / 1000} s`);
  }
}

/** The failed request. */
export interface ConnectionErrorOptions {
  readonly url: string;
  /** It may have changed something before it failed. */
  readonly isAction: boolean;
}

/** Failures before any byte of the request was sent. */
const NOT_REACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be resolved now',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
};

/** Other failures, by code, name or message: some versions of Node set no code. */
const BROKEN: Readonly<Record<string, string>> = {
  ECONNRESET: 'the server closed the connection without a response',
  EPIPE: 'the server closed the connection without a response',
  UND_ERR_SOCKET: 'the server closed the connection without a response',
  UND_ERR_HEADERS_TIMEOUT: 'the server was silent for five minutes',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'the file changed while it was sent',
  TimeoutError: 'the server did not answer in time',
  HTTPParserError: 'its response is not HTTP',
  'unexpected redirect': 'the server redirects, and an upload is sent only once',
  'bad port': 'HTTP clients refuse to use this port',
};

/** Without a certificate, a server may close the connection after the handshake. */
const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Errors of OpenSSL if the peer sends plain text. */
const NOT_TLS: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG']);

const CERTIFICATE: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate authority is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate authority is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate authority is not trusted here',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
};

/** Converts a failed fetch to an error for the user. */
export function connectionError(thrown: unknown, { url, isAction }: ConnectionErrorOptions): CliError {
  const { code, name, message } = rootCause(thrown);
  const notReached = NOT_REACHED[code];
  if (notReached !== undefined) {
    return new CliError('unreachable', `The server ${url} cannot be reached: ${notReached}.`, {
      hint: 'Start one with svc serve, or name another with --url or SVC_URL.',
      cause: thrown,
    });
  }
  if (NOT_TLS.has(code)) {
    return new CliError('unreachable', `The server ${url} cannot be reached: its response is not TLS.`, {
      hint: `Write ${url.replace(/^https:/, 'http:')} if it speaks plain HTTP.`,
      cause: thrown,
    });
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return new CliError('unreachable', `The server ${url} cannot be reached: the TLS handshake failed (${code}).`, {
      hint: 'Check which TLS versions it supports, and whether it requires a client certificate: see --cert and --key.',
      cause: thrown,
    });
  }
  const certificate = CERTIFICATE[code];
  if (certificate !== undefined) {
    return new CliError('unreachable', `The server ${url} is not trusted: ${certificate}.`, {
      hint: 'Name the file of its certificate authority with --ca-file, or fix the certificate.',
      cause: thrown,
    });
  }
  if (CLOSED.has(code) && url.startsWith('https:') && !isAction) {
    return new CliError('unreachable', `The request to ${url} failed: ${BROKEN[code]}.`, {
      hint: 'It may require a client certificate that it trusts: see --cert and --key.',
      cause: thrown,
    });
  }
  const broken = BROKEN[code] ?? BROKEN[name] ?? BROKEN[message] ?? message;
  return new CliError('unreachable', `The request to ${url} failed: ${broken}.`, {
    hint: isAction
      ? 'It may have taken effect: check before you repeat it.'
      : thrown instanceof ResponseTimeoutError
        ? 'Wait longer with --timeout <seconds>, or check whether the server is busy.'
        : 'Check that --url or SVC_URL names a data-frame server, and that it is running.',
    cause: thrown,
  });
}

/** Unwraps the error: fetch wraps it once or more. */
function rootCause(thrown: unknown): { readonly code: string; readonly name: string; readonly message: string } {
  let error = thrown;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  if (!(error instanceof Error)) return { code: '', name: '', message: String(error) };
  return {
    code: errorCode(error) ?? '',
    name: error.name,
    message: error.message === '' ? String(error) : error.message,
  };
}

/** The refused request. */
export interface RefusalOptions {
  /** The SQL of the request, for a caret under the error. */
  readonly sql?: string | undefined;
  /** Width of the terminal for the error, in columns. */
  readonly width: number;
  /** The flags for formats differ between reads of rows and writes of frames. */
  readonly kind: 'read' | 'write';
}

/** Converts an error body, of this server or of the database behind it; undefined if it is not an error body. */
export function refusalOf(body: unknown, { sql, width, kind }: RefusalOptions): CliError | undefined {
  const parsed = v.safeParse(REFUSAL, body);
  if (!parsed.success) return undefined;
  const { error, code, hint, requestId, position, errorPos } = parsed.output;
  // The database sometimes sends the position as a string, and under another name if it failed half-way.
  const at = Number(position ?? errorPos ?? Number.NaN);
  // This server counts code points, the database UTF-16 units; only this server sends codes.
  const caret = sql === undefined ? [] : sqlCaret(sql, code === undefined ? at : unitsBefore(sql, at), width);
  const isFault = code === 'internal' && requestId !== undefined;
  // Only this server sends codes. Its other sentences may quote SQL, with names and signs of its own.
  const message = code === 'invalid_argument' ? inFlags(error, kind) : error;
  return new CliError('refused', message, {
    hint: hintOf(code, code === undefined || code === 'invalid_sql' ? hint : hint && inFlags(hint, kind)),
    code,
    details: [...caret, ...(isFault ? [`  request id: ${requestId}`] : [])],
  });
}

/** Converts a number of code points to UTF-16 units. */
function unitsBefore(text: string, characters: number): number {
  let units = 0;
  let seen = 0;
  for (const character of text) {
    if (seen >= characters) return units;
    units += character.length;
    seen += 1;
  }
  return seen >= characters ? units : Number.NaN;
}

/** Replaces hints if a command has a better one. */
function hintOf(code: string | undefined, hint: string | undefined): string | undefined {
  if (code === 'handle_not_found') return 'svc list prints all handles.';
  // If a handle differs only in letter case, the hint of the server is better.
  if (code === 'handle_exists' && hint?.includes('If-None-Match')) {
    return 'Choose another handle, or leave out --if-new to replace the frame.';
  }
  return hint;
}

const INDENT = '  ';

/** Returns the line of the SQL at the position and a caret below it; nothing if the position is outside the SQL. */
export function sqlCaret(sql: string, position: number, width: number): readonly string[] {
  if (!Number.isSafeInteger(position) || position < 0 || position > sql.length || sql.trim() === '') return [];
  const start = sql.lastIndexOf('\n', position - 1) + 1;
  const end = sql.indexOf('\n', position);
  const available = Math.max(width - INDENT.length, 20);
  const before = cutTextLeft(visibleText(sql.slice(start, position)), Math.floor(available / 2));
  const after = cutText(visibleText(sql.slice(position, end < 0 ? undefined : end)), available - textWidth(before));
  return [`${INDENT}${before}${after}`, `${INDENT}${' '.repeat(textWidth(before))}^`];
}

/** Parameters of the server with flags of the same name. */
const FLAGS = 'limit|cols|engine|param|ttl|header|delimiter|columns|null|encoding|skip|dateformat|timestampformat';

/** A parameter, with or without the beginning of a value. */
const PARAMETER = new RegExp(`\\??\\b(${FLAGS})=(?=([^\\s,.;)]?))`, 'g');
const FORMAT = /(?:\/exp)?\??\bfmt=(?=\w)/g;

/** Sentences about requests of `svc`, and what its user can do. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/GET \/frames lists all handles/, 'svc list prints all handles'],
  [
    /GET \/ lists the paths of this server|Use one of the methods in the Allow header/,
    'Check that --url or SVC_URL names a data-frame server, and its base path if it has one',
  ],
  [/Send one of these as Content-Type: [^;]*; or add (?=--fmt)/, 'Use '],
  [/its format matches Content-Type/, 'its format is that of --fmt or of its extension'],
  [/Send the body without Content-Encoding/, 'Decompress the file first'],
  [
    /Send the rows in several files: POST \/frames\/\{handle\} appends/,
    'Put the rows in several files: --append adds to a frame',
  ],
  [
    /Send the header Authorization with Bearer and a token, or with Basic and the token as the password/,
    'Name the file of a token with --token-file, or set SVC_TOKEN',
  ],
  [/Retry after the number of seconds in Retry-After/, 'Try again in a moment'],
];

/**
 * Rewrites a sentence of the server about HTTP in terms of the command line: `engine=local` is `--engine local`. Text in
 * double quotes may be data and stays as it is.
 */
export function inFlags(sentence: string, kind: 'read' | 'write'): string {
  const parts = sentence.split(/("(?:[^"\\]|\\.)*")/);
  const flags = parts.map((part, i) => (i % 2 === 1 ? part : translate(part, kind))).join('');
  const rewritten = SENTENCES.reduce((text, [pattern, better]) => text.replace(pattern, better), flags);
  return rewritten.replaceAll(/\b([Ss])end (?=(?:one of )?--)/g, (_, first: string) =>
    first === 'S' ? 'Use ' : 'use ',
  );
}

function translate(text: string, kind: 'read' | 'write'): string {
  return text
    .replaceAll(PARAMETER, (found, name: string, value: string, at: number) => {
      // At the end, the value follows in quotes.
      const hasValue = value !== '' || at + found.length === text.length;
      return hasValue ? `--${name} ` : `--${name}`;
    })
    .replaceAll(FORMAT, kind === 'write' ? '--fmt ' : '--');
}
