import type { ErrorCode } from '@svc/errors';
import type { OperationName } from '@svc/service';

/** The methods of a path. GET also handles HEAD. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A JSON Schema of 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One parameter of a request. */
export interface ParameterRow {
  /** Its meaning and its values, in Markdown. */
  readonly rule: string;
  readonly schema: JsonSchema;
  readonly isRequired?: boolean;
  /** True if it may be given more than once. Otherwise a second one is an error. */
  readonly isRepeatable?: boolean;
  /** True if `/exec` passes it on to the time-series database. */
  readonly isForwarded?: boolean;
  /** Its upload formats. Default: all. */
  readonly formats?: readonly string[];
}

/** Parameters by name. */
export type ParameterTable = Readonly<Record<string, ParameterRow>>;

/** The body of a request: rows in any upload format, SQL, or a change to a frame. */
export type RequestContent = 'change' | 'form' | 'lines' | 'rows' | 'rows_or_appended_query' | 'rows_or_query' | 'sql';

/** The body of a response. */
export type ResponseContent =
  | 'document'
  | 'existence'
  | 'export'
  | 'file'
  | 'forwarded'
  | 'frame'
  | 'frame_list'
  | 'health'
  | 'import'
  | 'info'
  | 'page'
  | 'page_file'
  | 'query'
  | 'query_list'
  | 'settings'
  | 'shown_frame'
  | 'state'
  | 'table'
  | 'text'
  | 'warnings';

/** One success of a method. */
export interface ResponseRow {
  /** What the response says, as a sentence. */
  readonly means: string;
  /** Default: no body. */
  readonly content?: ResponseContent;
  /** Its headers, besides those of every response. */
  readonly headers?: readonly ResponseHeader[];
}

/** A header of responses. */
export type ResponseHeader =
  'accept-ranges' | 'content-disposition' | 'content-range' | 'etag' | 'location' | 'server-timing' | 'x-total-count';

/** A use of a method, for lists of all requests: `/exec` reads frames and runs SQL. */
export interface Use {
  /** The target of the request: `/exec?handle={handle}&fmt=json`. Default: the path. */
  readonly request?: string;
  /** What the response is, or what the request does, in Markdown. */
  readonly gives: string;
  /** The section of the documentation. */
  readonly section?: string;
}

/** One method of a path. */
export interface MethodRow {
  /** The `operationId`, a name in generated clients. */
  readonly id: string;
  /** What it does, in a few words. */
  readonly summary: string;
  /** The operation of the service, if the method decides it: its permission is checked before anything else. */
  readonly operation?: OperationName;
  readonly params?: ParameterTable;
  /** True to refuse parameters outside of `params`. Default: they are ignored. */
  readonly refusesOthers?: boolean;
  /** The request headers with an effect. */
  readonly headers?: ParameterTable;
  readonly body?: RequestContent;
  /** The successes by status. */
  readonly responses: Readonly<Record<number, ResponseRow>>;
  /** The errors, besides those of every request. */
  readonly errors?: readonly ErrorCode[];
  /** True if the time-series database may answer instead, with any status. */
  readonly mayForward?: boolean;
  /** Empty: it is not listed, because only another path uses it. */
  readonly uses: readonly Use[];
}

/** One path. */
export interface EndpointRow {
  /** The group of paths in the description of the API. */
  readonly group: 'Frames' | 'Rows and SQL' | 'Server';
  /** Who may send requests: only callers with credentials, or anyone. `optional`: credentials count if there are some. */
  readonly access?: 'closed' | 'optional' | 'open';
  /** True to answer however busy the server is: a failed probe would make an operator restart it. */
  readonly isProbe?: boolean;
  /** True if a GET does more than read, even without SQL. */
  readonly actsOnGet?: boolean;
  /** The parameters in the path. */
  readonly pathParams?: ParameterTable;
  readonly methods: Readonly<Partial<Record<Method, MethodRow>>>;
}

/** Endpoints by path, with its parameters in braces: `/frames/{handle}`. */
export type EndpointTable = Readonly<Record<string, EndpointRow>>;
