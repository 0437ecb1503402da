/** Converts a position in UTF-8 bytes to one in characters. */
export function charactersBefore(sql: string, bytes: number): number {
  return Array.from(Buffer.from(sql).subarray(0, bytes).toString()).length;
}
