import { expect, test, vi } from 'vitest';
import { createAppState } from './app-state.ts';
import type { StorageArea } from './store.ts';
import type { Tab } from './tabs.ts';

const LINKED: Tab = { kind: 'query', id: 'link', title: 'q1', sql: 'select 1', engine: 'local', view: 'rows' };

function createStorage(): StorageArea {
  const items = new Map<string, string>();
  return {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => void items.set(name, value),
    removeItem: (name) => void items.delete(name),
  };
}

/** Answers callers with a token, as a server with tenants does. */
async function send(address: unknown, init?: RequestInit): Promise<Response> {
  if (!new Headers(init?.headers).has('authorization'))
    return Response.json({ code: 'unauthenticated' }, { status: 401 });
  const isInfo = new URL(String(address)).pathname === '/info';
  return Response.json(isInfo ? { engines: ['local'], caller: { tenant: 'alpha', permissions: [] } } : { frames: [] });
}

test('the tab of a link is there after the sign-in that the link had to wait for', async () => {
  const app = createAppState({
    base: new URL('http://svc.test/'),
    send,
    session: createStorage(),
    local: createStorage(),
    colorScheme: { isDark: () => false, onChange: () => undefined },
  });
  await vi.waitFor(() => expect(app.connection.value).toBe('signed-out'));
  app.openTab(LINKED);
  await app.signIn('token');
  expect([app.connection.value, app.currentTab.value]).toEqual(['ready', LINKED]);
  app.setVisible(false);
});
