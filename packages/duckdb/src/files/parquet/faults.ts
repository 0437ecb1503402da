import { ServiceError } from '@svc/errors';
import { MAX_COLUMNS } from '@svc/frames/columns';

const CUT_OFF = 'Check that the body is complete and that its format matches Content-Type.';
/** What to do about a file whose bytes contradict each other. */
export const DAMAGED = 'The file is damaged, or its writer is faulty: write it again, for example with pyarrow.';
const ENCRYPTED = 'it is encrypted';
const ENCRYPTED_HINT = 'Write it without encryption: this server has no keys.';

/** DuckDB's and the child's messages about Parquet files, what they mean, and what to do. */
const PARQUET_FAULTS: readonly (readonly [pattern: RegExp, fault: string, hint: string])[] = [
  [/too small to be a Parquet file/i, 'it is too short', CUT_OFF],
  [/No magic bytes/i, 'it does not end with the bytes PAR1', CUT_OFF],
  [/is not a Parquet file/, 'it does not end with a footer', CUT_OFF],
  [/encrypted/i, ENCRYPTED, ENCRYPTED_HINT],
  [
    /Unsupported compression codec "LZ4"/i,
    'it is compressed with LZ4 in the deprecated framing of Hadoop, which is not supported',
    'Write it with the compression lz4_raw, zstd, snappy or gzip, or uncompressed.',
  ],
  [
    /Unsupported compression codec/i,
    'its compression is not supported',
    'Write it with the compression zstd, snappy, gzip, brotli or lz4_raw, or uncompressed.',
  ],
  [
    /BYTE_STREAM_SPLIT/,
    'a column has the encoding BYTE_STREAM_SPLIT, which is supported only for FLOAT and DOUBLE',
    'Write the column in another encoding, for example PLAIN or with a dictionary.',
  ],
  [
    /Could not convert Timestamp/i,
    'a timestamp is outside of the range of microseconds',
    'Change the value, or cast the column to a type that has it, such as string.',
  ],
  [/Footer length error/i, 'the length of its footer is wrong', CUT_OFF],
  [
    /enough bytes|bytes from location|bytes outside file|Could not read from file .*Invalid argument/i,
    'it is truncated, or its footer points outside it',
    CUT_OFF,
  ],
  [/decompress|GZIP stream/i, 'a part of it cannot be decompressed', DAMAGED],
  [
    /TProtocolException|Out of buffer|invalid TType|don't know what type|Payload value bigger|Page size/i,
    'its footer or a page is malformed',
    DAMAGED,
  ],
  [/^(?:INTERNAL|FATAL) Error/, 'its values or its footer contradict each other', DAMAGED],
];

/** The error for an unreadable Parquet file, with the reason of DuckDB or the child. */
export function unreadableParquet(message: string, cause: unknown): ServiceError {
  const [, fault = reasonOf(message), hint = DAMAGED] = PARQUET_FAULTS.find(([one]) => one.test(message)) ?? [];
  const reason = fault === '' ? '' : `: ${fault}`;
  return new ServiceError('invalid_data', `The Parquet file cannot be read${reason}.`, { hint, cause });
}

/** The error for an encrypted Parquet file. */
export function encryptedParquet(): ServiceError {
  return new ServiceError('invalid_data', `The Parquet file cannot be read: ${ENCRYPTED}.`, { hint: ENCRYPTED_HINT });
}

/** The error for a Parquet file with more columns than a frame can have. */
export function tooManyColumns(): ServiceError {
  return new ServiceError(
    'invalid_data',
    `The Parquet file has more than ${MAX_COLUMNS} columns, including nested ones.`,
    {
      hint: 'Split the frame, or reshape it to a long format.',
    },
  );
}

/** The error for a Parquet file whose columns are nested too deep. */
export function tooDeep(what: 'groups' | 'lists', most: number): ServiceError {
  return new ServiceError('invalid_data', `The Parquet file has ${what} that are nested more than ${most} deep.`, {
    hint: 'Flatten the nested columns.',
  });
}

/** DuckDB's own reason: the first line, without the kind of the error and the file. Empty if it may contain a path. */
function reasonOf(message: string): string {
  const [line = ''] = message.split('\n');
  const reason = line
    .replace(/^[A-Z][\w ]*? Error: /, '')
    .replace(/^Failed to read (?:Parquet )?file "[^"]*": /i, '')
    .replace(/[.!?\s]+$/, '')
    .replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase());
  return /[/\\]|[^\x20-\x7e]/.test(reason) ? '' : reason;
}
