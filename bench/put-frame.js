/** Puts a frame at its URL from a body of a format (`arrow`, `csv`, `ndjson`, `parquet`); gives what the server says of it. */
export async function putFrame(url, format, body, headers = {}) {
  const response = await fetch(`${url}?fmt=${format}`, { method: 'PUT', body, headers, duplex: 'half' });
  const text = await response.text();
  if (!response.ok) throw new Error(`PUT answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
