import * as v from 'valibot';
import { invalidResponse } from '../errors.ts';

const NO_FRAME = 'it does not describe a frame';
const NO_COLUMN = 'a column has no name or no type';
const NO_HEALTH = 'it is not the health of a data-frame server';
const NO_INFO = 'it does not name the engines of a data-frame server';
const NO_ACKNOWLEDGEMENT = 'it is neither a table nor an acknowledgement';

const COLUMN = { name: v.string(NO_COLUMN), type: v.string(NO_COLUMN) };

/** The metadata of a frame; unknown members are kept. */
export const FRAME = v.looseObject(
  {
    handle: v.string('a frame has no handle'),
    rows: v.number('a frame has no number of rows'),
    bytes: v.number('a frame has no number of bytes'),
    columns: v.array(
      v.looseObject({ ...COLUMN, nullable: v.boolean('a column does not say whether it is nullable') }, NO_COLUMN),
      NO_FRAME,
    ),
    created: v.string('a frame has no creation time'),
    version: v.string('a frame has no version'),
    /** Null: never. */
    expires: v.nullable(v.string('a frame has no expiry')),
    tier: v.string('a frame has no tier'),
  },
  NO_FRAME,
);

/** The metadata of a frame. */
export type FrameInfo = v.InferOutput<typeof FRAME>;

/** The metadata of a new frame. */
export const NEW_FRAME = v.pick(FRAME, ['rows', 'version']);

/** A frame in a list; null is what the server does not know yet. */
const LISTED_FRAME = v.looseObject(
  { ...FRAME.entries, rows: v.nullable(FRAME.entries.rows), columns: v.nullable(FRAME.entries.columns) },
  NO_FRAME,
);

/** A frame in a list. */
export type ListedFrame = v.InferOutput<typeof LISTED_FRAME>;

/** A page of frames. */
export const FRAME_LIST = v.object(
  { frames: v.array(LISTED_FRAME, 'it is not a list of frames') },
  'it is not a list of frames',
);

/** The health of a server. */
export const HEALTH = v.object(
  {
    status: v.picklist(['ok', 'degraded', 'failing', 'stopping'], NO_HEALTH),
    /** Missing, like everything below, if the server shows it only to callers with a token. */
    version: v.optional(v.string(NO_HEALTH)),
    uptimeSeconds: v.optional(v.number(NO_HEALTH)),
  },
  NO_HEALTH,
);

/** The health of a server. */
export type Health = v.InferOutput<typeof HEALTH>;

/** The part of the health that a local directory always has. */
export const STORE_HEALTH = v.object({ parts: v.object({ store: v.object({ frames: v.number() }) }) }, NO_HEALTH);

/** What a server can do. */
export const INFO = v.object(
  {
    engines: v.array(v.string(NO_INFO), NO_INFO),
    /** For SQL without an engine. The server may not have it. */
    defaultEngine: v.string(NO_INFO),
  },
  NO_INFO,
);

const TABLE_COLUMNS = v.array(v.object(COLUMN, NO_COLUMN), 'its columns are not a list');

/** A small JSON table, read as a whole. */
export const SHORT_TABLE = v.object({ columns: TABLE_COLUMNS, dataset: v.array(v.unknown()) }, 'it is not a table');

const UPDATED = v.nullish(v.number());

/** The response of the database to SQL without rows; the member depends on the SQL. */
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

/** An error body, of this server or of the database behind it; only the sentence is always present. */
export const REFUSAL = v.object({
  error: v.string(),
  code: TEXT_IF_ANY,
  hint: TEXT_IF_ANY,
  requestId: TEXT_IF_ANY,
  position: v.optional(v.unknown()),
  errorPos: v.optional(v.unknown()),
});

/** Validates a value of a response; the error names the first problem. */
export function parseResponse<T>(schema: v.GenericSchema<unknown, T>, value: unknown): T {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  throw invalidResponse(result.issues[0].message);
}
