/** Positions come in bytes of UTF-8, and go in characters. */
export function charactersBefore(sql: string, bytes: number): number {
  return Array.from(Buffer.from(sql).subarray(0, bytes).toString()).length;
}
