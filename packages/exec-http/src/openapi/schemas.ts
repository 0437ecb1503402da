import { ERROR_CODES, type ErrorCode } from '@svc/errors';
import { COLUMN_TYPES } from '@svc/frames';
import { HANDLE_PATTERN } from '@svc/frames/store';
import { MAX_TTL_SECONDS, SQL_TARGETS } from '@svc/service';
import * as v from 'valibot';
import type { PatchBody } from '../endpoints/frame-handlers.ts';
import { AppendBody, KeepBody } from '../upload/stored-query.ts';

const Whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const HandleSchema = v.pipe(v.string(), v.regex(HANDLE_PATTERN));
const Time = v.pipe(v.string(), v.isoTimestamp());
const ColumnType = v.pipe(v.string(), v.regex(columnTypePattern()), v.description('The type of a column.'));

/** Returns the pattern of all types: `DECIMAL(p,s)` stands for every precision and scale. */
function columnTypePattern(): RegExp {
  const names = Object.keys(COLUMN_TYPES).map((name) => name.replace('(p,s)', '\\([0-9]+,-?[0-9]+\\)'));
  return new RegExp(`^(${names.join('|')})$`);
}

/** The metadata of a frame. */
const FrameInfoSchema = v.strictObject({
  handle: HandleSchema,
  rows: Whole,
  bytes: Whole,
  columns: v.array(v.strictObject({ name: v.string(), type: ColumnType, nullable: v.boolean() })),
  created: Time,
  version: v.string(),
  expires: v.nullable(Time),
  tier: v.picklist(['memory', 'disk']),
});

const { columns: Columns, ...frameEntries } = FrameInfoSchema.entries;

/** The metadata of a frame, with the columns if the caller may describe it. */
const ShownInfoSchema = v.strictObject({ ...frameEntries, columns: v.exactOptional(Columns) });

const UNKNOWN = 'Null in a list if the server has not read the file yet: `GET /frames/{handle}` reads it.';

/** A frame in a list: without columns if the request says so, and with nulls if its file was not read yet. */
const ListedFrameSchema = v.strictObject({
  ...frameEntries,
  rows: v.pipe(v.nullable(Whole), v.description(UNKNOWN)),
  columns: v.exactOptional(v.pipe(v.nullable(Columns), v.description(UNKNOWN))),
});

const FrameListSchema = v.strictObject({ frames: v.array(ListedFrameSchema) });

const TableSchema = v.strictObject({
  query: v.exactOptional(
    v.pipe(v.string(), v.description('The SQL, or `handle:` and the handle; not with `nm=true`.')),
  ),
  columns: v.exactOptional(v.array(v.strictObject({ name: v.string(), type: ColumnType }))),
  dataset: v.pipe(v.array(v.array(v.any())), v.description('The rows, each with a value for each column.')),
  count: v.pipe(Whole, v.description('The number of rows in `dataset`, or of all with `count=true`.')),
  timings: v.exactOptional(v.pipe(v.record(v.string(), v.number()), v.description('Nanoseconds of each step.'))),
});

const isErrorCode = (name: string): name is ErrorCode => Object.hasOwn(ERROR_CODES, name);

/** The body of an error. */
const ErrorSchema = v.strictObject({
  error: v.pipe(v.string(), v.description('What happened, in one sentence.')),
  code: v.picklist(Object.keys(ERROR_CODES).filter(isErrorCode)),
  hint: v.pipe(v.string(), v.description('What to do.')),
  query: v.exactOptional(v.string()),
  position: v.exactOptional(v.pipe(Whole, v.description('Where in the SQL, in characters from 0.'))),
  requestId: v.pipe(v.string(), v.description('Identifies the request in the log.')),
  message: v.exactOptional(v.pipe(v.string(), v.description('The same as `error`, for clients of line protocol.'))),
  line: v.exactOptional(v.pipe(Whole, v.description('The line of the request that is wrong, from 1.'))),
  status: v.exactOptional(v.pipe(v.string(), v.description('The same as `error`, for imports of QuestDB.'))),
  errorId: v.exactOptional(v.pipe(v.string(), v.description('The same as `requestId`, for clients of line protocol.'))),
});

const StoreStatus = v.picklist(['ok', 'degraded', 'failing']);
const TargetSchema = v.strictObject({
  status: v.picklist(['configured', 'not_configured']),
  running: v.exactOptional(Whole),
  queued: v.exactOptional(Whole),
  processes: v.exactOptional(Whole),
  lastOutcome: v.exactOptional(v.picklist(['ok', ...Object.keys(ERROR_CODES).filter(isErrorCode)])),
});

/** The body of `/health`; callers see more or less of it. */
const HealthSchema = v.strictObject({
  status: v.picklist(['ok', 'degraded', 'failing', 'draining', 'stopping']),
  version: v.exactOptional(v.string()),
  uptimeSeconds: v.exactOptional(v.pipe(v.number(), v.minValue(0))),
  defaultEngine: v.exactOptional(v.picklist(SQL_TARGETS)),
  parts: v.exactOptional(
    v.strictObject({
      store: v.strictObject({
        status: StoreStatus,
        frames: v.exactOptional(Whole),
        bytes: v.exactOptional(Whole),
        freeBytes: v.exactOptional(Whole),
        faults: v.exactOptional(
          v.array(
            v.strictObject({
              kind: v.picklist(['damaged_frame', 'cannot_write', 'not_responding', 'low_space', 'out_of_files']),
              message: v.string(),
              tenant: v.exactOptional(v.string()),
              handle: v.exactOptional(v.string()),
            }),
          ),
        ),
      }),
      tls: v.exactOptional(v.strictObject({ status: v.picklist(['ok', 'degraded']), expires: Time })),
      local: TargetSchema,
      scheduler: TargetSchema,
      tsdb: TargetSchema,
    }),
  ),
});

/** Running SQL. */
const QuerySchema = v.strictObject({
  id: v.pipe(v.string(), v.description('The `x-request-id` of the request.')),
  tenant: v.exactOptional(v.string()),
  caller: v.exactOptional(v.string()),
  engine: v.picklist(SQL_TARGETS),
  state: v.picklist(['queued', 'running', 'sending']),
  elapsedMs: Whole,
  queuePosition: v.exactOptional(Whole),
  progress: v.pipe(
    v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
    v.description('The part that is done, from 0 to 1; null if it is unknown.'),
  ),
  rowsProcessed: v.exactOptional(Whole),
  rowsTotal: v.exactOptional(Whole),
  rows: v.pipe(Whole, v.description('The rows of the response so far.')),
  bytes: v.pipe(Whole, v.description('The bytes of the response so far, before compression.')),
  sql: v.exactOptional(v.string()),
});

const QueryListSchema = v.strictObject({ queries: v.array(QuerySchema) });

/** What the server can do. */
const InfoSchema = v.strictObject({
  version: v.string(),
  engines: v.array(v.picklist(SQL_TARGETS)),
  defaultEngine: v.picklist(SQL_TARGETS),
  formats: v.strictObject({ in: v.array(v.string()), out: v.array(v.string()), files: v.array(v.string()) }),
  limits: v.record(v.string(), v.nullable(Whole)),
  authentication: v.strictObject({
    isRequired: v.boolean(),
    kinds: v.exactOptional(v.array(v.picklist(['token', 'jwt', 'certificate']))),
  }),
  console: v.exactOptional(
    v.strictObject({
      keepsHistory: v.pipe(v.boolean(), v.description('Whether browsers may keep the history of the console.')),
    }),
  ),
  caller: v.exactOptional(v.strictObject({ tenant: v.string(), permissions: v.array(v.string()) })),
});

/** What clients of line protocol read before they send lines, and QuestDB's web console before it shows anything. */
const SettingsSchema = v.strictObject({
  config: v.strictObject({
    'line.proto.support.versions': v.array(Whole),
    'cairo.max.file.name.length': Whole,
    'release.type': v.exactOptional(v.string()),
    'release.version': v.exactOptional(v.string()),
    'http.settings.readonly': v.exactOptional(v.boolean()),
    'posthog.enabled': v.exactOptional(v.boolean()),
  }),
  'preferences.version': v.exactOptional(Whole),
  preferences: v.exactOptional(v.strictObject({})),
});

const ExistenceSchema = v.strictObject({ status: v.picklist(['Exists', 'Does not exist', 'Reserved name']) });

/** The report of an import. */
const ImportSchema = v.strictObject({
  status: v.literal('OK'),
  location: v.pipe(v.string(), v.description('The handle of the frame.')),
  rowsRejected: v.pipe(Whole, v.description('Always 0: an import is all or nothing.')),
  rowsImported: Whole,
  partitionBy: v.literal('NONE'),
  header: v.exactOptional(
    v.pipe(v.boolean(), v.description('`false`: the columns are named by position, `column0` and so on.')),
  ),
  columns: v.exactOptional(v.array(v.strictObject({ name: v.string(), type: ColumnType, errors: Whole }))),
});

/** The bodies of changes are checked by the service as well: their schemas say what it refuses. */
const TtlSchema = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_TTL_SECONDS));
const Sql = v.pipe(v.string(), v.minLength(1));

const FrameChangeSchema = v.union([
  v.strictObject({ ttl: v.nullable(TtlSchema) }),
  v.strictObject({ handle: HandleSchema }),
]) satisfies v.GenericSchema<unknown, v.InferOutput<typeof PatchBody>>;

const StoredQuerySchema = v.strictObject({
  ...KeepBody.entries,
  sql: Sql,
  handle: v.optional(HandleSchema),
  ttl: v.optional(v.nullable(TtlSchema)),
});

const AppendedQuerySchema = v.strictObject({ ...AppendBody.entries, sql: Sql });

const StateSchema = v.strictObject({ status: v.picklist(['ready', 'alive']) });

/** The named schemas of the document. */
export const SCHEMAS = {
  Frame: FrameInfoSchema,
  ShownFrame: ShownInfoSchema,
  FrameList: FrameListSchema,
  Table: TableSchema,
  Error: ErrorSchema,
  Health: HealthSchema,
  State: StateSchema,
  Settings: SettingsSchema,
  Existence: ExistenceSchema,
  Import: ImportSchema,
  Query: QuerySchema,
  QueryList: QueryListSchema,
  Info: InfoSchema,
  StoredQuery: StoredQuerySchema,
  AppendedQuery: AppendedQuerySchema,
  FrameChange: FrameChangeSchema,
} as const;
