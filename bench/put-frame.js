/** Puts a frame from a body in a format (`arrow`, `csv`, `ndjson`, `parquet`); returns its metadata. */
export async function putFrame(url, format, body, headers = {}) {
  const response = await fetch(`${url}?fmt=${format}`, { method: 'PUT', body, headers, duplex: 'half' });
  const text = await response.text();
  if (!response.ok) throw new Error(`PUT answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
