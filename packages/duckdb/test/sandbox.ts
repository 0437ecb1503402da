import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { expect } from 'vitest';
import { callOf, createSqlFixture, rowsOf, type SqlFixture } from '../src/testing/sql-fixture.ts';

/** What no SQL may find: it is in a file outside of the store, and in the environment. */
export const CANARY = 'canary-7f3a';

/** An engine with little of everything, the frames of two tenants, and a file that is not theirs. */
export interface Sandbox {
  readonly fixture: SqlFixture;
  /** The path of the file. */
  readonly outside: string;
  /** How a statement fails, and soon enough. */
  failureOf(sql: string): Promise<ServiceError>;
  /** Whatever happened, the tenant that did it and another one are answered. */
  expectAnswers(): Promise<void>;
  /** By how much the memory of this process has grown. */
  grownBytes(): number;
  close(): Promise<void>;
}

/** Makes one whose statements may take so long. */
export async function createSandbox(timeoutMs: number): Promise<Sandbox> {
  process.env['HOSTILE_CANARY'] = CANARY;
  const fixture = await createSqlFixture(
    { timeoutMs, memoryBytes: 150e6, maxTempBytes: 50e6, maxConcurrent: 2 },
    { hasTenants: true },
  );
  const { engine } = fixture;
  const outside = join(fixture.tempDirectory, 'outside.csv');
  await writeFile(outside, `${CANARY}\n`);
  await fixture.store.put({ tenant: 'default', handle: parseHandle('trades') }, longFrame(5));
  await fixture.store.put({ tenant: 'another', handle: parseHandle('secret') }, longFrame(3));

  async function expectAnswers(): Promise<void> {
    const [own, other] = await Promise.all([
      answered('SELECT sum(id)::INTEGER FROM trades', 'default'),
      answered('SELECT count(*) FROM secret', 'another'),
    ]);
    expect([own, other]).toEqual([[[10]], [[3n]]]);
  }

  /** On a busy machine a new child may take longer to start than a statement may here. */
  async function answered(sql: string, tenant: string, attempts = 5): Promise<unknown> {
    try {
      return await rowsOf(engine, sql, {}, callOf(tenant));
    } catch (error) {
      const isLate = error instanceof ServiceError && error.code === 'deadline_exceeded';
      if (!isLate || attempts === 1) throw error;
      return answered(sql, tenant, attempts - 1);
    }
  }

  /** A machine that others use too spoils single measurements of the time. */
  async function failureOf(sql: string, attempts = 3): Promise<ServiceError> {
    const startMs = performance.now();
    const error: unknown = await rowsOf(engine, sql).then(
      (rows) => new Error(`It was answered: ${String(rows).slice(0, 200)}`),
      (thrown: unknown) => thrown,
    );
    const tookMs = performance.now() - startMs;
    if (!(error instanceof ServiceError)) throw error;
    if (tookMs >= timeoutMs + 2000 && attempts > 1) return failureOf(sql, attempts - 1);
    expect(tookMs).toBeLessThan(timeoutMs + 2000);
    return error;
  }

  await expectAnswers();
  globalThis.gc?.();
  const rssBytes = process.memoryUsage.rss();
  return {
    fixture,
    outside,
    failureOf: (sql) => failureOf(sql),
    expectAnswers,
    grownBytes() {
      globalThis.gc?.();
      return process.memoryUsage.rss() - rssBytes;
    },
    async close() {
      delete process.env['HOSTILE_CANARY'];
      await fixture.close();
    },
  };
}

/** Fails where SQL that takes too much does not fail as it must, or others are not answered afterwards. */
export async function expectDefused(sandbox: Sandbox, sql: string): Promise<void> {
  const { code, message } = await sandbox.failureOf(sql);
  expect(['deadline_exceeded', 'invalid_sql', 'out_of_disk', 'out_of_memory', 'permission_denied']).toContain(code);
  expect(message.length).toBeLessThan(3000);
  await sandbox.expectAnswers();
}
