import { ServiceError } from '@svc/errors';

/** A fault in line protocol. It names the line, from 1. */
export class LineError extends ServiceError {
  readonly line: number;

  constructor(line: number, reason: string, hint: string) {
    super('invalid_data', `Line ${line}: ${reason}`, { hint });
    this.line = line;
  }
}

/** Thrown if the bytes end within a line. */
export const INCOMPLETE: Error = new Error('The line continues beyond the bytes received so far.');
