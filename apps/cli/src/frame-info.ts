import { invalidAnswer } from './cli-error.ts';
import { isObject } from './refusal.ts';

/** What the server knows of a frame. */
export interface FrameInfo {
  readonly handle: string;
  readonly rows: number;
  readonly bytes: number;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly nullable: boolean }[];
  readonly created: string;
  readonly version: string;
  /** Null: never. */
  readonly expires: string | null;
  readonly tier: string;
}

/** A value of an answer as the description of a frame. */
export function frameInfo(value: unknown): FrameInfo {
  if (!isObject(value) || !Array.isArray(value['columns'])) throw invalidAnswer('it does not describe a frame');
  const text = (name: string): string => {
    const member = value[name];
    if (typeof member !== 'string') throw invalidAnswer(`a frame has no ${name}`);
    return member;
  };
  const count = (name: string): number => {
    const member = value[name];
    if (typeof member !== 'number') throw invalidAnswer(`a frame has no number of ${name}`);
    return member;
  };
  return {
    handle: text('handle'),
    rows: count('rows'),
    bytes: count('bytes'),
    columns: value['columns'].map((column: unknown) => {
      if (!isObject(column) || typeof column['name'] !== 'string' || typeof column['type'] !== 'string') {
        throw invalidAnswer('a column has no name or no type');
      }
      return { name: column['name'], type: column['type'], nullable: column['nullable'] !== false };
    }),
    created: text('created'),
    version: text('version'),
    expires: typeof value['expires'] === 'string' ? value['expires'] : null,
    tier: text('tier'),
  };
}
