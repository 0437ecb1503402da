import type { Caller } from '@svc/frames';

/** A caller, and when its credentials expire, in ms since 1970. */
export interface Proof {
  readonly caller: Caller;
  readonly untilMs: number;
}

/** Remembers the last valid `Authorization` of each connection: most clients send the same one with every request. */
export interface ProvedCallers {
  /**
   * Returns the caller if the connection has proved it with the same value; undefined if the value must be checked.
   * `sources` is what values are checked against: with another object, all of them must be checked again.
   */
  find(connection: object, authorization: string, sources: object, nowMs: number): Caller | undefined;
  add(connection: object, authorization: string, sources: object, proof: Proof): void;
}

interface Entry {
  readonly sources: object;
  readonly authorization: string;
  /** The proof of that value, by its secret: a map, see below. */
  readonly proofs: ReadonlyMap<string, Proof>;
}

/** The secret part of a value: the signature of a JWT, or a whole token. */
const secretOf = (authorization: string): string => authorization.slice(authorization.lastIndexOf('.') + 1);

/**
 * Creates an empty memory. It holds one value for each open connection, and releases it with the connection. Without it,
 * the hash of the credentials would cost several percent of a small response.
 *
 * Several clients share a connection behind a proxy, so the time of a lookup must not say how much of a wrong secret is
 * right. A map compares the hashes of texts first, which depend on a random seed of the process; `===` would compare the
 * texts from their beginning, so it compares the rest of a value only after its secret was found.
 */
export function createProvedCallers(): ProvedCallers {
  const entries = new WeakMap<object, Entry>();
  return {
    find(connection, authorization, sources, nowMs) {
      const entry = entries.get(connection);
      if (entry === undefined) return undefined;
      const proof = entry.proofs.get(secretOf(authorization));
      if (entry.sources !== sources || (proof !== undefined && nowMs >= proof.untilMs)) {
        entries.delete(connection);
        return undefined;
      }
      return proof !== undefined && entry.authorization === authorization ? proof.caller : undefined;
    },
    add(connection, authorization, sources, proof) {
      entries.set(connection, { sources, authorization, proofs: new Map([[secretOf(authorization), proof]]) });
    },
  };
}
