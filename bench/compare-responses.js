// Checks before timing that all sides return the same values.
import { strict as assert } from 'node:assert';

async function bytesOf(url, { method, path, headers, body }) {
  const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body }) });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${url}${path} answered ${response.status}: ${bytes.toString('utf8', 0, 500)}`);
  return bytes;
}

/** Throws if a side returns other rows than the first; `normalized` maps a row to its comparable form. */
export async function compareRows(sides, requestOf, normalized = (row) => row) {
  let expected;
  for (const side of sides) {
    const rows = side.rowsOf(await bytesOf(side.url, requestOf(side))).map(normalized);
    expected ??= rows;
    assert.ok(rows.length > 0, `${side.name} returns no rows`);
    assert.deepEqual(rows, expected, `${side.name} returns other rows than ${sides[0].name}`);
  }
}

/** The same for rows of the trades set, with any notation of times. */
export function compareTrades(sides, requestOf) {
  return compareRows(sides, requestOf, tradeOf);
}

/** Throws if two tables of strings differ by more than the rounding of double sums. */
export function compareTexts(rows, expected, what) {
  assert.ok(expected.length > 0, `${what} has no rows`);
  assert.equal(rows.length, expected.length, `${what} has another number of rows`);
  rows.forEach((row, i) =>
    row.forEach((text, k) => assert.ok(isSame(text, expected[i][k]), `${what}: row ${i} differs`)),
  );
}

function isSame(text, other) {
  if (text === other) return true;
  const [a, b] = [Number(text), Number(other)];
  return Math.abs(a - b) <= 1e-9 * Math.abs(b);
}

function tradeOf(row) {
  // A peer may omit a null at the end of a row.
  const [id, price, symbol, at, flag, quantity = null] = row;
  return [Number(id), Number(price), symbol, micros(at), Boolean(flag), quantity];
}

function micros(text) {
  const [, day, time, fraction = ''] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?Z?$/.exec(text);
  return Date.parse(`${day}T${time}Z`) * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}
