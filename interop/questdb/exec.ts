/** Returns the URL of a statement, for the database or for the server. */
export function execUrl(url: string, sql: string): string {
  return `${url}/exec?query=${encodeURIComponent(sql)}&fmt=json`;
}

/** Runs a statement that must succeed. */
export async function exec(url: string, sql: string): Promise<{ readonly dataset: readonly unknown[] }> {
  const response = await fetch(execUrl(url, sql));
  const text = await response.text();
  if (!response.ok) throw new Error(`${sql} was answered with ${response.status}: ${text}`);
  const answer: { dataset?: readonly unknown[] } = JSON.parse(text);
  return { dataset: answer.dataset ?? [] };
}
