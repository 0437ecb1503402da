import * as fc from 'fast-check';
import { ServiceError } from '@svc/errors';
import { expect, test } from 'vitest';
import { runs } from '../../../test/tier.ts';
import { parseHandle } from './store.ts';
import { createWriteReservations, type WriteReservation } from './write-conditions.ts';

const QUOTA = { maxBytes: 100, maxFrames: 3 };
const MIB = 1024 ** 2;

const refOf = (handle: string) => ({ tenant: 'alpha', handle: parseHandle(handle) });

/** Runs a step. Returns whether it was within the quota. */
function fits(step: () => void): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'quota_exceeded') return false;
    throw error;
  }
}

const step = fc.oneof(
  fc.record({ do: fc.constant('open'), kind: fc.constantFrom('put', 'append'), key: fc.constantFrom(...'abcde') }),
  fc.record({ do: fc.constant('resize'), at: fc.nat(4), bytes: fc.nat(120) }),
  fc.record({ do: fc.constantFrom('publish', 'abort'), at: fc.nat(4) }),
  fc.record({ do: fc.constant('drop'), key: fc.constantFrom(...'abcde') }),
);

test('whatever writes begin, grow, end and fail in whatever order, the frames stay within the quota', () => {
  const run = (steps: readonly Record<string, string | number>[]): void => {
    const sizes = new Map<string, number>();
    const reservations = createWriteReservations(() => sizes);
    const writes: { kind: string; key: string; bytes: number; reservation: WriteReservation }[] = [];
    for (const { do: what, kind, key, at, bytes } of steps) {
      const index = Number(at ?? 0);
      const write = writes[index];
      if (what === 'open') {
        const named = { kind: String(kind), key: String(key) };
        fits(() => {
          const reservation = reservations.open(refOf(named.key), kind === 'put' ? 'put' : 'append', QUOTA);
          writes.push({ ...named, bytes: 0, reservation });
        });
      } else if (what === 'drop') sizes.delete(String(key));
      else if (write !== undefined && what === 'resize') {
        if (fits(() => write.reservation.resize(Number(bytes)))) write.bytes = Number(bytes);
      } else if (write !== undefined) {
        const before = write.kind === 'put' ? 0 : (sizes.get(write.key) ?? 0);
        if (what === 'publish') sizes.set(write.key, before + write.bytes);
        write.reservation.close();
        writes.splice(index, 1);
      }
      const bytesNow = [...sizes.values()].reduce((sum, size) => sum + size, 0);
      // `expect` takes longer than the rest of a step.
      if (sizes.size > QUOTA.maxFrames || bytesNow > QUOTA.maxBytes) expect(Object.fromEntries(sizes)).toBe(QUOTA);
    }
  };
  fc.assert(fc.property(fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }), run), { numRuns: runs(5000) });
});

test('uploads in progress share what their temporary files may have, until they end', () => {
  const reservations = createWriteReservations(() => []);
  const [first, second] = ['a', 'b'].map((handle) => reservations.open(refOf(handle), 'put', QUOTA));
  first?.receive(40 * MIB);
  expect(fits(() => second?.receive(25 * MIB))).toBe(false);
  second?.receive(24 * MIB);
  // What a client declares counts from the start, and less than that changes nothing.
  first?.receive(1);
  expect(fits(() => second?.receive(25 * MIB))).toBe(false);
  first?.close();
  second?.receive(64 * MIB);
  expect(fits(() => second?.receive(64 * MIB + 1))).toBe(false);
});

test('a large quota is also what temporary files may have', () => {
  const reservations = createWriteReservations(() => []);
  const write = reservations.open(refOf('a'), 'put', { maxBytes: 100 * MIB });
  write.receive(100 * MIB);
  expect(fits(() => write.receive(100 * MIB + 1))).toBe(false);
});
