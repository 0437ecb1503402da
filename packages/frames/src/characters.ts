/** Returns the length of a text in characters, in which positions in SQL count. */
export function charactersIn(text: string): number {
  let pairs = 0;
  for (let i = 1; i < text.length; i += 1) if (isLow(text.charCodeAt(i)) && isHigh(text.charCodeAt(i - 1))) pairs += 1;
  return text.length - pairs;
}

/** Converts a position in UTF-8 bytes to one in characters. */
export function charactersBefore(sql: string, bytes: number): number {
  return charactersIn(Buffer.from(sql).subarray(0, bytes).toString());
}

/** The halves of a character that takes two code units. */
const isHigh = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
const isLow = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;
