/** The character encodings of CSV uploads, each with its other names. */
const CSV_ENCODING_NAMES = {
  'utf-8': ['utf8', 'us-ascii', 'ascii'],
  'utf-16': ['utf16'],
  'utf-16le': ['utf16le'],
  'utf-16be': ['utf16be'],
  'latin-1': ['latin1', 'iso-8859-1', 'iso8859-1'],
  'windows-1252': ['cp1252', 'cp-1252'],
} as const satisfies Record<string, readonly string[]>;

/**
 * A character encoding. `utf-16` is little endian unless its byte order mark or its first character says otherwise.
 * `latin-1` is ISO 8859-1: the bytes 80 to 9F are control characters. In `windows-1252` they are `€`, quotes and dashes.
 */
export type CsvEncoding = keyof typeof CSV_ENCODING_NAMES;

/** All encodings, by their main names. */
export const CSV_ENCODINGS: readonly CsvEncoding[] = [
  'utf-8',
  'utf-16',
  'utf-16le',
  'utf-16be',
  'latin-1',
  'windows-1252',
];

/** Finds an encoding by one of its names, in any letter case. */
export function csvEncodingFrom(name: string): CsvEncoding | undefined {
  const wanted = name.toLowerCase().replaceAll('_', '-');
  return CSV_ENCODINGS.find((one) => one === wanted || CSV_ENCODING_NAMES[one].some((other) => other === wanted));
}
