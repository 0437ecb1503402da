import * as v from 'valibot';
import { invalidResponse } from '../errors/cli-error.ts';

const NO_FRAME = 'it does not describe a frame';
const NO_COLUMN = 'a column has no name or no type';
const NO_HEALTH = 'it is not the state of a data-frame server';
const NO_ACKNOWLEDGEMENT = 'it is neither a table nor an acknowledgement';

const COLUMN = { name: v.string(NO_COLUMN), type: v.string(NO_COLUMN) };

/** What the server knows of a frame; what it may know one day is kept. */
export const FRAME = v.looseObject(
  {
    handle: v.string('a frame has no handle'),
    rows: v.number('a frame has no number of rows'),
    bytes: v.number('a frame has no number of bytes'),
    columns: v.array(
      v.looseObject({ ...COLUMN, nullable: v.boolean('a column does not say whether it has nulls') }, NO_COLUMN),
      NO_FRAME,
    ),
    created: v.string('a frame has no time of its creation'),
    version: v.string('a frame has no version'),
    /** Null: never. */
    expires: v.nullable(v.string('a frame does not say when it ends')),
    tier: v.string('a frame has no tier'),
  },
  NO_FRAME,
);

/** What the server knows of a frame. */
export type FrameInfo = v.InferOutput<typeof FRAME>;

/** The part of a new frame that is told. */
export const NEW_FRAME = v.pick(FRAME, ['rows', 'version']);

/** A page of frames. */
export const FRAME_LIST = v.object(
  { frames: v.array(FRAME, 'it is not a list of frames') },
  'it is not a list of frames',
);

const PART = v.optional(v.object({ status: v.string(NO_HEALTH) }, NO_HEALTH));

/** What a server says of itself. */
export const HEALTH = v.object(
  {
    status: v.string(NO_HEALTH),
    version: v.string(NO_HEALTH),
    uptimeSeconds: v.number(NO_HEALTH),
    /** Who can be asked SQL. */
    parts: v.optional(v.object({ tsdb: PART, local: PART }, NO_HEALTH)),
  },
  NO_HEALTH,
);

/** What a server says of itself. */
export type Health = v.InferOutput<typeof HEALTH>;

/** The columns of a JSON table. */
export const TABLE_COLUMNS = v.array(v.object(COLUMN, NO_COLUMN), 'its columns are not a list');

/** A JSON table that is short enough to be read at once. */
export const SHORT_TABLE = v.object({ columns: TABLE_COLUMNS, dataset: v.array(v.unknown()) }, 'it is not a table');

const UPDATED = v.nullish(v.number());

/** What the database says of SQL that has no rows; the word for it depends on the SQL. */
export const ACKNOWLEDGEMENT = v.union(
  [
    v.pipe(
      v.object({ ddl: v.string(), updated: UPDATED }),
      v.transform(({ ddl, updated }) => ({ word: ddl, updated })),
    ),
    v.pipe(
      v.object({ dml: v.string(), updated: UPDATED }),
      v.transform(({ dml, updated }) => ({ word: dml, updated })),
    ),
  ],
  NO_ACKNOWLEDGEMENT,
);

const TEXT_IF_ANY = v.fallback(v.optional(v.string()), undefined);

/** The body of an error, of this server or of the database behind it: only the sentence is sure to be there. */
export const REFUSAL = v.object({
  error: v.string(),
  code: TEXT_IF_ANY,
  hint: TEXT_IF_ANY,
  requestId: TEXT_IF_ANY,
  position: v.optional(v.unknown()),
  errorPos: v.optional(v.unknown()),
});

/** A value of an answer as what it should be, or an error that says what is wrong with it. */
export function parseResponse<T>(schema: v.GenericSchema<unknown, T>, value: unknown): T {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  throw invalidResponse(result.issues[0].message);
}
