/** Returns the length of a text in characters, in which positions in SQL count. */
export function charactersIn(text: string): number {
  return Array.from(text).length;
}

/** Converts a position in UTF-8 bytes to one in characters. */
export function charactersBefore(sql: string, bytes: number): number {
  return charactersIn(Buffer.from(sql).subarray(0, bytes).toString());
}
