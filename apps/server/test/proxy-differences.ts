/** The intended differences between the response of the server and the recorded one of the database. */
export interface Difference {
  readonly status: number;
  /** The error code; undefined: no error. */
  readonly code?: string;
  readonly why: string;
}

const OWN_PATHS = 'the server has paths of its own';
const OWN_CREDENTIALS = 'the server has credentials of its own, whatever the client sends';
const OWN_METHODS = 'the server has methods of its own, and says which';

/** By the id of the recorded request. Every other one passes through unchanged. */
export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  'fmt-csv': { status: 400, code: 'invalid_argument', why: 'of fmt only json is taken, where the database ignores it' },
  'dup-query-param': { status: 400, code: 'invalid_argument', why: 'which of two queries runs is not left to chance' },
  'empty-no-param': { status: 400, code: 'invalid_argument', why: 'neither handle nor query is given' },
  'bad-percent': { status: 400, code: 'invalid_argument', why: 'the database closes the connection without a word' },
  'bad-utf8': { status: 400, code: 'invalid_argument', why: 'text that is not UTF-8 is refused for all engines alike' },
  'err-closes-the-connection': {
    status: 502,
    code: 'tsdb_failed',
    why: 'the database sends half a head, then rows, which is no HTTP',
  },
  'trailing-slash': { status: 404, code: 'route_not_found', why: OWN_PATHS },
  'double-slash': { status: 404, code: 'route_not_found', why: OWN_PATHS },
  'method-post-query-url': { status: 415, code: 'unsupported_media_type', why: 'POST takes the SQL as its body' },
  'method-post-form': { status: 200, why: 'POST takes the SQL as its body' },
  'method-head': { status: 405, why: 'a HEAD never runs SQL' },
  'method-options': { status: 405, code: 'method_not_allowed', why: OWN_METHODS },
  'method-options-cors': { status: 405, code: 'method_not_allowed', why: OWN_METHODS },
  'method-put': { status: 405, code: 'method_not_allowed', why: OWN_METHODS },
  'method-delete': { status: 405, code: 'method_not_allowed', why: OWN_METHODS },
  'method-patch': { status: 405, code: 'method_not_allowed', why: OWN_METHODS },
  'auth-none': { status: 200, why: OWN_CREDENTIALS },
  'auth-wrong': { status: 200, why: OWN_CREDENTIALS },
  'auth-exp-none': { status: 200, why: OWN_CREDENTIALS },
  'auth-chk-none': { status: 200, why: OWN_CREDENTIALS },
};
