import { expect, test } from 'vitest';
import { fromChild } from './file-errors.ts';
import { ChildError } from '../child-link/child-errors.ts';

const FAULTS = [
  ['The file is not a Parquet file.', 'it does not end with a footer'],
  [
    "Invalid Input Error: No magic bytes found at end of file '/frames/a.parquet'",
    'it does not end with the bytes PAR1',
  ],
  ["Invalid Input Error: File '/frames/a.parquet' too small to be a Parquet file", 'it is too short'],
  ["Invalid Input Error: Footer length error in file '/frames/a.parquet'", 'the length of its footer is wrong'],
  ['Invalid Input Error: File "/frames/a.parquet" is encrypted, but no encryption config was set', 'it is encrypted'],
  [
    'Invalid Input Error: Failed to read file "/frames/a.parquet": ZSTD Decompression failure',
    'a part of it cannot be decompressed',
  ],
  [
    'Invalid Input Error: Failed to read file "/frames/a.parquet": Unsupported compression codec "LZ4". Supported options are zstd',
    'it is compressed with LZ4 in the deprecated framing of Hadoop, which is not supported',
  ],
  [
    'Invalid Error: BYTE_STREAM_SPLIT encoding is only supported for FLOAT or DOUBLE data',
    'a column has the encoding BYTE_STREAM_SPLIT, which is supported only for FLOAT and DOUBLE',
  ],
  [
    'Conversion Error: Could not convert Timestamp(MS) to Timestamp(US)',
    'a timestamp is outside of the range of microseconds',
  ],
  ['Invalid Error: Decode bit width too large', 'decode bit width too large'],
  ['IO Error: MAP_KEY_VALUE needs to be repeated', 'MAP_KEY_VALUE needs to be repeated'],
  [
    'Invalid Input Error: Failed to read Parquet file "/frames/a.parquet": row group does not have enough columns',
    'row group does not have enough columns',
  ],
  [
    'IO Error: Could not read from file "/frames/a.parquet": Invalid argument',
    'it is truncated, or its footer points outside it',
  ],
  ['Invalid Error: TProtocolException: Invalid data', 'its footer or a page is malformed'],
  ['Invalid Error: Out of buffer', 'its footer or a page is malformed'],
  [
    'IO Error: Could not read enough bytes from file "/frames/a.parquet": attempted to read 10 bytes from location 4',
    'it is truncated, or its footer points outside it',
  ],
] as const;
const UNKNOWN = 'IO Error: The file "/frames/a.duckdb" exists, but it is not a valid DuckDB database file!';
const OF_THE_FILE = [...FAULTS.map(([message]) => message), UNKNOWN];

const OF_THE_SYSTEM = [
  'IO Error: Cannot open file "/frames/a.parquet": Too many open files',
  'IO Error: Cannot open file "/frames/a.parquet": Permission denied',
  'IO Error: Could not read from file "/frames/a.parquet": Input/output error',
  'IO Error: No files found that match the pattern "/frames/a.parquet"',
  "EMFILE: too many open files, open '/frames/a.parquet'",
  "ENFILE: file table overflow, open '/frames/a.parquet'",
  'EIO: i/o error, read',
  'FATAL Error: Failed: database has been invalidated because of a previous fatal error.',
  'INTERRUPT Error: Interrupted!',
];

const failed = (message: string, isIntact?: true): Error =>
  fromChild(new ChildError({ code: 'duckdb', message, ...(isIntact && { isIntact }) }), 'Parquet file');

test.each(FAULTS)('the file is the cause of: %s: %s', (message, fault) => {
  expect(failed(message)).toMatchObject({
    code: 'invalid_data',
    message: `The Parquet file cannot be read: ${fault}.`,
  });
});

test('a column in an encoding that is not supported can be written in another one', () => {
  expect(failed('Invalid Error: BYTE_STREAM_SPLIT encoding is only supported for FLOAT or DOUBLE data')).toMatchObject({
    hint: 'Write the column in another encoding, for example PLAIN or with a dictionary.',
  });
});

test('an internal error of DuckDB is about a file of others, but not about one of ours', () => {
  const cause = new ChildError({ code: 'duckdb', message: 'INTERNAL Error: Information loss on integer cast' });
  expect(fromChild(cause, 'Parquet file')).toMatchObject({
    code: 'invalid_data',
    message: 'The Parquet file cannot be read: its values or its footer contradict each other.',
  });
  expect(fromChild(cause, 'stored file')).toMatchObject({ code: 'internal' });
  expect(failed(cause.message, true)).toMatchObject({ code: 'internal' });
});

test('a message with a path is not passed on', () => {
  expect(failed(UNKNOWN)).toMatchObject({ code: 'invalid_data', message: 'The Parquet file cannot be read.' });
});

test.each(OF_THE_SYSTEM)('no file is the cause of: %s', (message) => {
  expect(failed(message)).not.toMatchObject({ code: 'invalid_data' });
});

test.each([
  'IO Error: Could not write file "/frames/a.parquet": File too large',
  'EFBIG: file too large, write',
  'IO Error: Could not write file "/frames/a.parquet": No space left on device',
])('there is no space for the file: %s', (message) => {
  const error = fromChild(new ChildError({ code: 'duckdb', message }), 'new file');
  expect(error).toMatchObject({ code: 'ENOSPC' });
});

test('a line of a CSV file that speaks of a large file is not a full disk', () => {
  const message = 'Invalid Input Error: CSV Error on Line: 2\nOriginal Line: 7,file too large\nToo many columns';
  const error = fromChild(new ChildError({ code: 'duckdb', message }), 'CSV file');
  expect(error).toMatchObject({ code: 'invalid_data' });
});

test.each(OF_THE_FILE)('a file that matches its checksums is not the cause of: %s', (message) => {
  expect(failed(message, true)).not.toMatchObject({ code: 'invalid_data' });
});

test('a file that does not match its checksums is invalid data', () => {
  const error = new ChildError({ code: 'damaged_file', message: 'The bytes 4 to 90 do not match their checksum.' });
  expect(fromChild(error, 'Parquet file')).toMatchObject({
    code: 'invalid_data',
    message: 'The Parquet file is damaged: its bytes are not those that were written.',
  });
});
