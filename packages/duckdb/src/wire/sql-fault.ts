/** DuckDB's error for a failed statement. */
export interface SqlFault {
  readonly code: 'sql_fault';
  /** DuckDB's error type: `Binder`, `Conversion`, `Out of Memory`. */
  readonly kind: string;
  readonly message: string;
  /** The byte offset in the statement. */
  readonly position?: number;
}

/** Thrown when a statement fails. */
export class SqlFaultError extends Error {
  readonly fault: SqlFault;

  constructor(fault: SqlFault) {
    super(fault.message);
    this.fault = fault;
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
