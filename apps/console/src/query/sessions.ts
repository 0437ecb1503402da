import { effect, untracked } from '@preact/signals';
import type { AppState } from '../state/app-state.ts';
import { createSession, type QuerySession } from './session.ts';
import { createWords } from './words.ts';

/** The sessions of the query tabs. They stay when another tab is shown, and end when their tab is closed. */
export interface QuerySessions {
  of(tabId: string): QuerySession;
}

/** The sessions of each app. They belong to it, but only this lazily loaded part of the page knows them. */
const byApp = new WeakMap<AppState, QuerySessions>();

/** Returns the sessions of an app. */
export function sessionsOf(app: AppState): QuerySessions {
  const sessions = byApp.get(app) ?? createSessions(app);
  byApp.set(app, sessions);
  return sessions;
}

function createSessions(app: AppState): QuerySessions {
  const words = createWords(app);
  const byTab = new Map<string, QuerySession>();
  effect(() => {
    const open = new Set(app.tabs.value.map(({ id }) => id));
    untracked(() => {
      for (const [id, session] of byTab) {
        if (open.has(id)) continue;
        byTab.delete(id);
        session.close();
      }
    });
  });
  // A page that is put aside for the way back keeps its connections: its queries would run on.
  addEventListener('pagehide', () => {
    for (const session of byTab.values()) session.runner.cancel();
  });
  return {
    of(tabId) {
      const session = byTab.get(tabId) ?? createSession(app, words, tabId);
      byTab.set(tabId, session);
      return session;
    },
  };
}
