import { randomBytes } from 'node:crypto';
import { ServiceError } from '@svc/errors';
import type { Call, SqlValue } from '@svc/frames';
import type { UpdateStatement } from '@svc/frames/statements';
import type { EngineName } from '@svc/service';

/** What a client has bound to a statement. */
export interface BoundValues {
  /** The values of the parameters; none if many rows were bound. */
  readonly params: readonly SqlValue[];
  /** The rows for an `INSERT` whose values are parameters, as an Arrow IPC stream. */
  readonly rows?: readonly Uint8Array[];
}

/** A prepared statement, with what was bound last. */
export interface PreparedStatement extends BoundValues {
  readonly sql: string;
  readonly engine: EngineName;
  /** What the statement changes; undefined if it is a query. */
  readonly update: UpdateStatement | undefined;
  /** The number of parameters, if known. */
  readonly parameterCount: number;
}

/** An LRU cache of the prepared statements of all tenants. */
export interface PreparedStatements {
  /** Adds a statement. If the tenant has too many, evicts the least recently used ones. */
  create(call: Call, statement: PreparedStatement): Uint8Array;
  /** Returns the statement of a handle; `invalid_argument` if it was closed or evicted, or belongs to another tenant. */
  get(call: Call, handle: Uint8Array): PreparedStatement;
  /** Binds values, instead of those bound before. */
  bind(call: Call, handle: Uint8Array, values: BoundValues): void;
  /** Removes a statement, if it still exists. */
  close(call: Call, handle: Uint8Array): void;
}

/** Limits per tenant. */
export interface PreparedStatementsOptions {
  /** The most statements of a tenant. Default 1000. */
  readonly maxCount?: number;
  /** The most bytes of SQL and values of a tenant. Default 64 MiB. */
  readonly maxBytes?: number;
  /** The clock, in ms. */
  readonly now?: () => number;
}

/** How long an unused statement is kept. */
export const STATEMENT_LIFE_MS = 3_600_000;

/** Creates an empty cache. */
export function createPreparedStatements(options: PreparedStatementsOptions = {}): PreparedStatements {
  const { maxCount = 1000, maxBytes = 64 * 1024 * 1024, now = () => performance.now() } = options;
  // Each map is in LRU order: the most recently used statement comes last.
  const tenants = new Map<string, Map<string, Kept>>();

  function keep(tenant: string, id: string, statement: PreparedStatement): void {
    const bytes = bytesOf(statement);
    if (bytes > maxBytes) {
      throw new ServiceError(
        'payload_too_large',
        `A prepared statement of ${bytes} bytes is larger than ${maxBytes}.`,
        {
          hint: 'Shorten the SQL or the values of its parameters.',
        },
      );
    }
    const own = tenants.get(tenant) ?? new Map<string, Kept>();
    tenants.set(tenant, own);
    own.delete(id);
    own.set(id, { statement, bytes, until: now() + STATEMENT_LIFE_MS });
    let total = [...own.values()].reduce((sum, kept) => sum + kept.bytes, 0);
    for (const [oldest, kept] of own) {
      if (own.size <= maxCount && total <= maxBytes && kept.until > now()) break;
      own.delete(oldest);
      total -= kept.bytes;
    }
  }

  function get({ tenant }: Call, handle: Uint8Array): PreparedStatement {
    const id = Buffer.from(handle).toString('hex');
    const kept = tenants.get(tenant)?.get(id);
    if (kept === undefined || kept.until <= now()) {
      throw new ServiceError('invalid_argument', 'The prepared statement does not exist or has expired.', {
        hint: 'Prepare the statement again.',
      });
    }
    keep(tenant, id, kept.statement);
    return kept.statement;
  }

  return {
    create({ tenant }, statement) {
      const handle = randomBytes(16);
      keep(tenant, handle.toString('hex'), statement);
      return handle;
    },
    get,
    bind(call, handle, values) {
      const { sql, engine, update, parameterCount } = get(call, handle);
      keep(call.tenant, Buffer.from(handle).toString('hex'), { sql, engine, update, parameterCount, ...values });
    },
    close({ tenant }, handle) {
      const own = tenants.get(tenant);
      own?.delete(Buffer.from(handle).toString('hex'));
      if (own?.size === 0) tenants.delete(tenant);
    },
  };
}

interface Kept {
  readonly statement: PreparedStatement;
  readonly bytes: number;
  readonly until: number;
}

/** The estimated size of a statement without its text. */
const STATEMENT_BYTES = 256;
const VALUE_BYTES = 64;

function bytesOf({ sql, update, params, rows = [] }: PreparedStatement): number {
  // What was parsed holds parts of the text once more.
  const textBytes = (update === undefined ? 2 : 4) * sql.length;
  const rowBytes = rows.reduce((sum, chunk) => sum + chunk.length, 0);
  const ownBytes = STATEMENT_BYTES + textBytes + rowBytes;
  return params.reduce<number>((sum, value) => sum + VALUE_BYTES + valueBytes(value), ownBytes);
}

function valueBytes(value: SqlValue): number {
  if (typeof value === 'string') return 2 * value.length;
  if (value instanceof Uint8Array) return value.length;
  return typeof value === 'object' && value !== null ? 2 * value.text.length : 0;
}
