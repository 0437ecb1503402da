import { orAborted } from '@svc/errors';
import type { SparkClient } from './connect-spark.ts';
import { newSession, openSession, releaseSession, type SessionIdentity } from './spark-session.ts';

/** A session that one statement uses. */
export interface BorrowedSession {
  readonly identity: SessionIdentity;
  /** The id that the server gave the session; empty if it gave none. */
  readonly serverSideId: string;
  /** Whether a statement used it before. */
  readonly isUsed: boolean;
  /** Must be called when the statement has ended. Resolves when the session has ended, too, unless it is kept. */
  readonly giveBack: () => Promise<void>;
  /** Uses the session for no further statement: the server has lost it. */
  readonly retire: () => void;
}

/** The sessions of the tenants. */
export interface SparkSessions {
  /** Returns a session of a tenant. `isKept`: statements share it, and it stays open for the next one. */
  borrow(tenant: string, isKept: boolean, signal: AbortSignal): Promise<BorrowedSession>;
  /** Ends the sessions that no statement uses. The others end when they are given back. */
  close(): Promise<void>;
}

/** Options of `createSparkSessions`. */
export interface SparkSessionsOptions {
  /** The maximum number of sessions that stay open. Default 64. */
  readonly maxKept?: number;
  /** How long a session stays open without a statement. Default 5 minutes. */
  readonly idleMs?: number;
}

interface Session {
  readonly tenant: string;
  readonly identity: SessionIdentity;
  readonly opened: Promise<string>;
  users: number;
  isUsed: boolean;
  isRetired: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

const IDLE_MS = 300_000;
const MAX_KEPT = 64;

/**
 * Creates the sessions of a connection. The first statement of a session takes Spark about twice as long as the next ones, so
 * the statements of a tenant share one. None of them can change it: each is one query in parentheses, which names its files
 * itself.
 */
export function createSparkSessions(client: SparkClient, options: SparkSessionsOptions = {}): SparkSessions {
  const { maxKept = MAX_KEPT, idleMs = IDLE_MS } = options;
  /** Sorted by their last use. */
  const kept = new Map<string, Session>();

  function open(tenant: string): Session {
    const identity = newSession(tenant);
    const opened = openSession(client, identity);
    const idleTimer = undefined;
    const session: Session = { tenant, identity, opened, users: 0, isUsed: false, isRetired: false, idleTimer };
    opened.catch(() => void retire(session));
    return session;
  }

  /** Uses a session for no further statement; ends it if none uses it now. */
  async function retire(session: Session): Promise<void> {
    if (kept.get(session.tenant) === session) kept.delete(session.tenant);
    clearTimeout(session.idleTimer);
    if (session.isRetired) return;
    session.isRetired = true;
    if (session.users === 0) await releaseSession(client, session.identity);
  }

  function sessionOf(tenant: string, isKept: boolean): Session {
    const known = isKept ? kept.get(tenant) : undefined;
    const session = known ?? open(tenant);
    if (!isKept) session.isRetired = true;
    else {
      kept.delete(tenant);
      kept.set(tenant, session);
      const [oldest] = kept.values();
      if (kept.size > maxKept && oldest !== undefined) void retire(oldest);
    }
    return session;
  }

  async function giveBack(session: Session): Promise<void> {
    session.users--;
    if (session.users > 0) return;
    if (session.isRetired) await releaseSession(client, session.identity);
    else session.idleTimer = setTimeout(() => void retire(session), idleMs).unref();
  }

  return {
    async borrow(tenant, isKept, signal) {
      const session = sessionOf(tenant, isKept);
      session.users++;
      clearTimeout(session.idleTimer);
      const { identity, isUsed } = session;
      session.isUsed = true;
      let back: Promise<void> | undefined;
      const giveBackOnce = (): Promise<void> => (back ??= giveBack(session));
      try {
        const serverSideId = await orAborted(session.opened, signal);
        return { identity, serverSideId, isUsed, giveBack: giveBackOnce, retire: () => void retire(session) };
      } catch (error) {
        void giveBackOnce();
        throw error;
      }
    },
    async close() {
      await Promise.all([...kept.values()].map(retire));
    },
  };
}
