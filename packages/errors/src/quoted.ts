/** A client's text in double quotes, escaped and cut to a length that fits into a sentence. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
