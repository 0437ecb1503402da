/** Returns a new id of 32 hexadecimal digits. `crypto.randomUUID` is missing in pages from another machine without TLS. */
export function uniqueId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
