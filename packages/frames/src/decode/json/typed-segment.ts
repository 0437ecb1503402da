import type { ColumnTarget, JsonColumn, JsonSegment } from './json-column.ts';

/** A column whose type is known, and a segment of its values. */
export interface TypedSegment {
  readonly column: JsonColumn;
  readonly target: ColumnTarget;
  /** Undefined if all rows are null. */
  readonly segment: JsonSegment | undefined;
  readonly rows: number;
}
