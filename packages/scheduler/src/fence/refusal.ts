import { ServiceError } from '@svc/errors';
import { charactersIn } from '@svc/frames/internal';

/** The refusal of a statement, before its text is known. */
export class Refusal extends Error {
  readonly code: 'permission_denied' | 'invalid_sql';
  readonly hint: string;
  /** In UTF-16 code units. */
  readonly at: number;

  constructor(code: Refusal['code'], message: string, hint: string, at: number) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.at = at;
  }

  /** The same for a client: with the statement, and a position in characters. */
  toServiceError(query: string): ServiceError {
    const position = charactersIn(query.slice(0, this.at));
    return new ServiceError(this.code, this.message, { hint: this.hint, query, position });
  }
}

/** Returns the refusal of something that must not reach a cluster. */
export function denied(message: string, hint: string, at: number): Refusal {
  return new Refusal('permission_denied', message, hint, at);
}

/** Returns the refusal of something that is not one statement, or that cannot be read. */
export function unreadable(message: string, hint: string, at: number): Refusal {
  return new Refusal('invalid_sql', message, hint, at);
}
