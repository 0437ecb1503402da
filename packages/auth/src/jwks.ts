import { get } from 'node:https';
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import * as v from 'valibot';
import type { AuthEvent } from './auth-event.ts';
import { isKeySetUrl, KeySetError } from './key-set-source.ts';
import { FileError, readTextFile } from './read-text-file.ts';
import { watchFiles } from './watch-files.ts';

/** The public keys that sign JWTs. */
export interface KeySet {
  /** Finds the key of a JWT; a new function whenever the keys change. */
  readonly current: JWTVerifyGetKey;
  /** Loads the keys again, because one is missing, unless that happened a moment ago. Returns whether they changed. */
  refresh(): Promise<boolean>;
  close(): void;
}

/** Options of `openKeySet`. */
export interface KeySetOptions {
  /** A file, or an https URL, with a JSON Web Key Set. */
  readonly source: string;
  /** Authorities for the URL, in PEM. Default: those of Node. */
  readonly ca?: string | undefined;
  readonly onEvent: (event: AuthEvent) => void;
  readonly pollMs?: number | undefined;
  /** The clock, in ms. */
  readonly now: () => number;
}

const MAX_FILE_BYTES = 2 ** 20;
/** How long to wait between two requests to the URL. */
const MIN_FETCH_MS = 30_000;

/** Loads the keys. Throws `KeySetError` if they cannot be used. */
export async function openKeySet(options: KeySetOptions): Promise<KeySet> {
  return isKeySetUrl(options.source) ? openUrl(options) : openFile(options);
}

async function openFile({ source, onEvent, pollMs }: KeySetOptions): Promise<KeySet> {
  const keys = await watchFiles({
    paths: [source],
    load: async () => parseKeySet(parseJson(await readTextFile(source, MAX_FILE_BYTES))),
    onChange: ({ count }) => onEvent({ kind: 'keys_loaded', source, keys: count }),
    onFailure: (error) => onEvent({ kind: 'keys_refused', source, reason: reasonOf(error) }),
    pollMs,
  }).catch((error: unknown) => {
    throw new KeySetError(`The keys in ${JSON.stringify(source)} cannot be used. ${reasonOf(error)}`, { cause: error });
  });
  return {
    get current() {
      return keys.current.find;
    },
    // The file is watched.
    refresh: async () => false,
    close: () => keys.close(),
  };
}

async function openUrl({ source, ca, onEvent, now }: KeySetOptions): Promise<KeySet> {
  const load = async (): Promise<ParsedKeySet> => parseKeySet(await fetchJson(source, ca));
  let fetchedMs = now();
  let keys = await load().catch((error: unknown) => {
    throw new KeySetError(`The keys at ${source} cannot be loaded. ${reasonOf(error)}`, { cause: error });
  });
  let running: Promise<boolean> | undefined;

  async function reload(): Promise<boolean> {
    fetchedMs = now();
    try {
      keys = await load();
      onEvent({ kind: 'keys_loaded', source, keys: keys.count });
      return true;
    } catch (error) {
      onEvent({ kind: 'keys_refused', source, reason: reasonOf(error) });
      return false;
    } finally {
      running = undefined;
    }
  }

  return {
    get current() {
      return keys.find;
    },
    async refresh() {
      if (running === undefined && now() - fetchedMs < MIN_FETCH_MS) return false;
      running ??= reload();
      return running;
    },
    close: () => undefined,
  };
}

interface ParsedKeySet {
  readonly find: JWTVerifyGetKey;
  readonly count: number;
}

const KeySetTable = v.object({ keys: v.pipe(v.array(v.looseObject({ kty: v.string() })), v.minLength(1)) });

function parseKeySet(value: unknown): ParsedKeySet {
  const parsed = v.safeParse(KeySetTable, value);
  if (!parsed.success) throw new FileError('It is not a JSON Web Key Set with at least one key.');
  const { keys } = parsed.output;
  return { find: createLocalJWKSet({ keys }), count: keys.length };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FileError('It is not JSON.');
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'It is not JSON.';
  return error instanceof Error ? error.message : String(error);
}

/** Whether an error means that no key fits: new ones may be needed. */
export function isUnknownKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey;
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 2 ** 20;

/** Fetches a short JSON document over https. `ca`: the authorities to trust, in PEM; default: those of Node. */
async function fetchJson(url: string, ca: string | undefined): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const text = await new Promise<string>((resolve, reject) => {
    const request = get(url, { signal, headers: { accept: 'application/json' }, ...(ca !== undefined && { ca }) });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      if (response.statusCode !== 200) request.destroy(new Error(`The status is ${response.statusCode}.`));
      response.on('data', (chunk: Uint8Array) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > MAX_BYTES) request.destroy(new Error(`The response has more than ${MAX_BYTES} bytes.`));
      });
      response.on('error', reject);
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
  });
  return JSON.parse(text);
}
