import type { SqlFailure, SqlFault, UnreadableFrame } from '../../wire/requests.ts';

/** A statement failed: it was refused, a frame cannot be read, or DuckDB reported a fault. */
export class SqlError extends Error {
  readonly failure: SqlFailure | SqlFault | UnreadableFrame;

  constructor(failure: SqlFailure | SqlFault | UnreadableFrame) {
    super(failure.message);
    this.failure = failure;
  }
}

/** An unknown name, and the known ones. */
export interface UnknownName {
  readonly name: string;
  readonly candidates: readonly string[];
}

/** The refusal of a statement. */
export class SqlRefusal extends SqlError {
  declare readonly failure: SqlFailure;
  readonly unknown: UnknownName | undefined;

  constructor(failure: SqlFailure, unknown?: UnknownName) {
    super(failure);
    this.unknown = unknown;
  }
}

/** A statement can produce a message of any length. */
const MAX_MESSAGE_LENGTH = 2000;

/** Parses an error of DuckDB, whose message is JSON if `errors_as_json` is set. */
export function faultOf(error: unknown, shift: number): SqlFault {
  const text = error instanceof Error ? error.message : String(error);
  const fault = { code: 'sql_fault', kind: kindOf(text), message: text.slice(0, MAX_MESSAGE_LENGTH) } as const;
  const start = text.indexOf('{');
  if (start < 0) return fault;
  try {
    const said: unknown = JSON.parse(text.slice(start));
    if (typeof said !== 'object' || said === null || !('exception_message' in said)) return fault;
    const position = 'position' in said ? Number(said.position) + shift : Number.NaN;
    return {
      code: 'sql_fault',
      kind: 'exception_type' in said ? String(said.exception_type) : fault.kind,
      message: String(said.exception_message).slice(0, MAX_MESSAGE_LENGTH),
      ...(position >= 0 && { position }),
    };
  } catch {
    return fault;
  }
}

function kindOf(text: string): string {
  return /^([A-Z][\w ]*?) Error: /.exec(text)?.[1] ?? '';
}
