import { Readable } from 'node:stream';
import { type Authenticator, type Credentials, type Permission, PERMISSIONS, unauthenticated } from '@svc/auth';
import { createMemoryStore, streamFromTable } from '@svc/frames';
import { tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createService } from './create-service.ts';
import { SQL_TARGETS, type SqlTarget } from './engines.ts';
import type { ServiceEvent } from './events.ts';
import { REQUIRED_PERMISSIONS, requiredPermissions } from './permissions.ts';
import type { OperationName } from './service.ts';

const PERMISSIONS_OF_OPERATIONS = Object.entries(REQUIRED_PERMISSIONS).flatMap(([name, row]) => {
  const operation = name as OperationName;
  const targets: readonly (SqlTarget | undefined)[] = Array.isArray(row)
    ? [undefined]
    : SQL_TARGETS.filter((target) => target in row);
  return targets.map((target) => ({ operation, target, needed: requiredPermissions(operation, target) }));
});

function callOf(permissions?: readonly Permission[]) {
  const caller = permissions && { id: 't-abcdef', tenant: 'alpha', permissions: new Set(permissions) };
  return { tenant: 'alpha', caller, requestId: 'r', signal: new AbortController().signal };
}

const authenticator: Authenticator = {
  authenticate() {
    throw unauthenticated('The request has no credentials.');
  },
  close: () => undefined,
};

const open = createService({ store: createMemoryStore() });
const closed = createService({ store: createMemoryStore(), authenticator });

describe('every operation', () => {
  test('has a row in the table of permissions', () => {
    const others = new Set([
      'authenticate',
      'authorize',
      'admit',
      'startRequest',
      'useAdmin',
      'health',
      'observe',
      'startTrace',
      'drain',
      'stop',
      'close',
    ]);
    const methods = Object.entries(closed).filter(([name, value]) => typeof value === 'function' && !others.has(name));
    expect(methods.map(([name]) => name).toSorted()).toEqual(Object.keys(REQUIRED_PERMISSIONS).toSorted());
  });

  test.each(PERMISSIONS_OF_OPERATIONS)('$operation $target needs $needed and nothing else', (row) => {
    const { operation, target, needed } = row;
    for (const service of [open, closed]) {
      expect(() => service.authorize(callOf(needed), operation, target)).not.toThrow();
      for (const missing of needed) {
        const rest = PERMISSIONS.filter((name) => name !== missing);
        expect(() => service.authorize(callOf(rest), operation, target)).toThrow(
          `The caller lacks the permission ${missing}.`,
        );
      }
    }
  });

  test.each(PERMISSIONS_OF_OPERATIONS)('$operation $target of a call without a caller', ({ operation, target }) => {
    expect(() => open.authorize(callOf(), operation, target)).not.toThrow();
    expect(() => closed.authorize(callOf(), operation, target)).toThrow('The request has no credentials.');
  });

  test('checks the caller itself', async () => {
    const upload = { format: 'json', body: (async function* () {})() } as const;
    const run = {
      readFrame: () => closed.readFrame(callOf(), 'x'),
      openFile: () => closed.openFile(callOf(), 'x', 'parquet'),
      findFile: () => closed.findFile(callOf(), 'x', 'parquet'),
      describeFrame: () => closed.describeFrame(callOf(), 'x'),
      listFrames: () => closed.listFrames(callOf()),
      putFrame: () => closed.putFrame(callOf(), 'x', upload),
      appendFrame: () => closed.appendFrame(callOf(), 'x', upload),
      expireFrame: () => closed.expireFrame(callOf(), 'x', 1),
      renameFrame: () => closed.renameFrame(callOf(), 'x', 'y'),
      dropFrame: () => closed.dropFrame(callOf(), 'x'),
      query: () => closed.query(callOf(), 'select 1'),
      describeQuery: () => closed.describeQuery(callOf(), 'select 1'),
      keepQuery: () => closed.keepQuery(callOf(), 'select 1'),
      appendRows: () => closed.appendRows(callOf(), 'x', streamFromTable(tableFromArrays({}))),
      appendQuery: () => closed.appendQuery(callOf(), 'x', 'select 1'),
      writeLines: () => closed.writeLines(callOf(), upload),
      forward: () => closed.forward(callOf(), { path: '/exec', params: [] }),
      forwardRead: () => closed.forwardRead(callOf(), { method: 'GET', target: '/', headers: {} }),
      forwardChange: () => closed.forwardChange(callOf(), { method: 'POST', target: '/imp', headers: {} }),
      listQueries: () => closed.listQueries(callOf()),
      findQuery: () => closed.findQuery(callOf(), 'r'),
      cancelQuery: () => closed.cancelQuery(callOf(), 'r'),
    } satisfies Record<OperationName, () => Promise<unknown>>;
    for (const [name, operation] of Object.entries(run)) {
      await expect(operation(), name).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });
});

test('the events of an operation name the caller', async () => {
  const events: ServiceEvent[] = [];
  const service = createService({ store: createMemoryStore(), authenticator, observe: (event) => events.push(event) });
  const upload = { format: 'json', body: Readable.from([Buffer.from('[{"id":1}]')]) } as const;
  await service.putFrame(callOf(['write']), 'x', upload);
  await service.dropFrame(callOf(['write']), 'x');
  const source = { requestId: 'r', tenant: 'alpha', caller: 't-abcdef', handle: 'x' };
  expect(events).toMatchObject([
    { kind: 'frame_put', ...source },
    { kind: 'audited', operation: 'putFrame', outcome: 'ok', ...source },
    { kind: 'frame_dropped', ...source },
    { kind: 'audited', operation: 'dropFrame', outcome: 'ok', ...source },
  ]);
});

test.each([
  ['at once', authenticator],
  ['later', { ...authenticator, authenticate: async (sent: Credentials) => authenticator.authenticate(sent) }],
])('a credential that is refused %s is an event with the reason', async (_when, own) => {
  const events: ServiceEvent[] = [];
  const service = createService({
    store: createMemoryStore(),
    authenticator: own,
    observe: (event) => events.push(event),
  });
  const ask = async () => service.authenticate?.({}, { requestId: 'r-1' });
  await expect(ask()).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(events).toEqual([
    { kind: 'caller_refused', requestId: 'r-1', operation: null, reason: 'The request has no credentials.' },
  ]);
});
