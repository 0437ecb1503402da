/** Keys of JWTs that cannot be loaded at the start. The message is for the operator. */
export class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** Whether the keys come from a URL. */
export function isKeySetUrl(source: string): boolean {
  return source.startsWith('https://');
}
