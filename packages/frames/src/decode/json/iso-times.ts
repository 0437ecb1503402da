// Parsers of ISO 8601 texts. They read bytes, because most rows of many frames have a timestamp.

const [ZERO, DASH, COLON, DOT, PLUS] = [0x30, 0x2d, 0x3a, 0x2e, 0x2b];

/** A position in a text. `isValid` turns false at the first character that does not fit. */
interface Reader {
  bytes: Uint8Array;
  at: number;
  end: number;
  isValid: boolean;
}

/** Reused by all calls: the parsers are synchronous. */
const reader: Reader = { bytes: new Uint8Array(0), at: 0, end: 0, isValid: true };

function begin(bytes: Uint8Array, start: number, end: number): void {
  reader.bytes = bytes;
  reader.at = start;
  reader.end = end;
  reader.isValid = true;
}

function has(byte: number): boolean {
  if (reader.at >= reader.end || reader.bytes[reader.at] !== byte) return false;
  reader.at++;
  return true;
}

function expect(byte: number): void {
  if (!has(byte)) reader.isValid = false;
}

/** Reads exactly `count` digits. */
function digits(count: number): number {
  let value = 0;
  for (let i = 0; i < count; i++, reader.at++) {
    const digit = reader.at < reader.end ? reader.bytes[reader.at] - ZERO : -1;
    if (digit < 0 || digit > 9) {
      reader.isValid = false;
      return 0;
    }
    value = value * 10 + digit;
  }
  return value;
}

function countDigits(): number {
  let at = reader.at;
  while (at < reader.end && reader.bytes[at] >= ZERO && reader.bytes[at] <= ZERO + 9) at++;
  return at - reader.at;
}

/** Reads a year: four digits, or a sign and five to twelve digits. */
function year(): number {
  const isNegative = has(DASH);
  if (!isNegative && !has(PLUS)) return digits(4);
  const count = countDigits();
  if (count < 5 || count > 12) reader.isValid = false;
  const value = digits(Math.min(count, 12));
  return isNegative ? -value : value;
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reads a date, and returns its days since 1970. */
function days(): number {
  const y = year();
  expect(DASH);
  const month = digits(2);
  expect(DASH);
  const day = digits(2);
  const isLeap = y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);
  if (month < 1 || month > 12 || day < 1 || day > MONTH_DAYS[month - 1] + (month === 2 && isLeap ? 1 : 0)) {
    reader.isValid = false;
  }
  const shifted = month <= 2 ? y - 1 : y;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

/** The units of the last fraction of a second. */
let fraction = 0;

/** Reads a time of day, returns its seconds, and sets `fraction`, which has to be exact. */
function secondOfDay(perSecond: number): number {
  const hour = digits(2);
  expect(COLON);
  const minute = digits(2);
  const second = has(COLON) ? digits(2) : 0;
  fraction = has(DOT) ? units(perSecond) : 0;
  if (hour > 24 || minute > 59 || second > 59) reader.isValid = false;
  const seconds = hour * 3600 + minute * 60 + second;
  if (seconds > 86_400 || (seconds === 86_400 && fraction > 0)) reader.isValid = false;
  return seconds;
}

/** Reads the digits after a decimal point as units. Digits that are smaller than a unit have to be zeros. */
function units(perSecond: number): number {
  const count = countDigits();
  if (count === 0) reader.isValid = false;
  let value = 0;
  let unit = perSecond;
  for (let i = 0; i < count; i++) {
    const digit = digits(1);
    unit /= 10;
    if (unit >= 1) value += digit * unit;
    else if (digit !== 0) reader.isValid = false;
  }
  return value;
}

/** Reads a zone, and returns its offset in seconds. A time without a zone is UTC. */
function zone(): number {
  if (reader.at === reader.end || has(0x5a) || has(0x7a)) return 0;
  const isNegative = has(DASH);
  if (!isNegative) expect(PLUS);
  const hour = digits(2);
  const minute = has(COLON) || reader.at < reader.end ? digits(2) : 0;
  if (hour > 23 || minute > 59) reader.isValid = false;
  return (hour * 3600 + minute * 60) * (isNegative ? -1 : 1);
}

const MAX = 2n ** 63n - 1n;

/** Whether the text is `infinity`; 0 if it is not, else its sign. */
export function infinityOf(bytes: Uint8Array, start: number, end: number): -1 | 0 | 1 {
  const isNegative = bytes[start] === DASH;
  const from = isNegative ? start + 1 : start;
  if (end - from !== 8 || bytes[from] !== 0x69) return 0;
  if (Buffer.from(bytes.buffer, bytes.byteOffset + from, 8).toString('latin1') !== 'infinity') return 0;
  return isNegative ? -1 : 1;
}

/**
 * Parses a date, or a date and a time, to units since 1970 in UTC; undefined if it is not exactly one. The ends of the
 * range mean infinity, so a date there does not fit.
 */
export function parseTimestamp(
  bytes: Uint8Array,
  start: number,
  end: number,
  perSecond: number,
): number | bigint | undefined {
  begin(bytes, start, end);
  const day = days();
  let seconds = 0;
  fraction = 0;
  if (reader.at < reader.end) {
    if (!has(0x54) && !has(0x74)) expect(0x20);
    seconds = secondOfDay(perSecond);
    // 24:00 would be written back as the next day.
    if (seconds === 86_400) reader.isValid = false;
    seconds -= zone();
  }
  if (!reader.isValid || reader.at !== reader.end) return undefined;
  const total = (day * 86_400 + seconds) * perSecond + fraction;
  if (Number.isSafeInteger(total)) return total;
  const exact = (BigInt(day) * 86_400n + BigInt(seconds)) * BigInt(perSecond) + BigInt(fraction);
  return exact >= MAX || exact <= -MAX - 2n || exact === -MAX ? undefined : exact;
}

/** Parses a time of day to units since midnight; undefined if it is not exactly one. */
export function parseTime(bytes: Uint8Array, start: number, end: number, perSecond: number): number | undefined {
  begin(bytes, start, end);
  const total = secondOfDay(perSecond) * perSecond + fraction;
  return reader.isValid && reader.at === reader.end ? total : undefined;
}

/** A period in months, days and nanoseconds. */
export interface Period {
  readonly months: number;
  readonly days: number;
  readonly nanos: bigint;
}

const PERIOD =
  /^P(?:([+-]?\d{1,10})Y)?(?:([+-]?\d{1,10})M)?(?:([+-]?\d{1,10})W)?(?:([+-]?\d{1,10})D)?(?:T(?=.)(?:([+-]?\d{1,19})H)?(?:([+-]?\d{1,19})M)?(?:([+-]?)(\d{1,19})(?:\.(\d{1,9})0*)?S)?)?$/;

/** Parses an ISO 8601 duration whose parts have their own signs; undefined if it is not one. */
export function parsePeriod(text: string): Period | undefined {
  const found = PERIOD.exec(text);
  if (found === null || text === 'P') return undefined;
  const [, years = '0', months = '0', weeks = '0', dayCount = '0', hours = '0', minutes = '0'] = found;
  const [sign, seconds = '0', decimals = ''] = found.slice(7);
  const nanosOfSecond = BigInt(seconds) * 1_000_000_000n + BigInt(decimals.padEnd(9, '0'));
  return {
    months: Number(years) * 12 + Number(months),
    days: Number(weeks) * 7 + Number(dayCount),
    nanos: (BigInt(hours) * 60n + BigInt(minutes)) * 60_000_000_000n + (sign === '-' ? -nanosOfSecond : nanosOfSecond),
  };
}
