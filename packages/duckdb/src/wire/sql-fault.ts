/** What DuckDB says of a statement that failed. */
export interface SqlFault {
  readonly code: 'sql_fault';
  /** The kind of the failure, as DuckDB names it: `Binder`, `Conversion`, `Out of Memory`. */
  readonly kind: string;
  readonly message: string;
  /** In bytes of the statement. */
  readonly position?: number;
}

/** A statement that failed. */
export class SqlFaultError extends Error {
  readonly fault: SqlFault;

  constructor(fault: SqlFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** SQL can make messages of any length. */
const MAX_MESSAGE_LENGTH = 2000;

/** A failure of DuckDB, which writes its messages as JSON where `errors_as_json` is set. */
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
