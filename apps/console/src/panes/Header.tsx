import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AppState } from '../state/app-state.ts';
import { Icon, IconButton } from '../widgets/Icon.tsx';
import { Key } from '../widgets/Key.tsx';

/** The line at the top: the name, the state of the connection, and what is always at hand. */
export function Header(props: { readonly app: AppState; readonly isDrawerOpen: Signal<boolean> }): JSX.Element {
  const { app, isDrawerOpen } = props;
  const info = app.info.value;
  const themeTitle = app.theme.value === 'dark' ? 'Light colours' : 'Dark colours';
  return (
    <header class="top">
      <button
        type="button"
        class="quiet drawer-button"
        aria-label="Frames"
        aria-expanded={isDrawerOpen.value}
        aria-controls="side"
        onClick={() => (isDrawerOpen.value = !isDrawerOpen.value)}
      >
        <Icon name="menu" />
      </button>
      <h1>svc</h1>
      <ConnectionState app={app} />
      {info && info.version !== 'unknown' && <span class="version">{info.version}</span>}
      <span class="space" />
      {info?.caller && (
        <span class="tenant" title={`Permissions: ${info.caller.permissions.join(', ')}`}>
          <Icon name="key" />
          {info.caller.tenant}
        </span>
      )}
      {info?.caller && (
        <button type="button" class="quiet" onClick={() => app.signOut()}>
          Sign out
        </button>
      )}
      <button type="button" class="quiet go-to" onClick={() => (app.sheet.value = 'palette')}>
        <Icon name="search" />
        <span>Go to…</span>
        <Key of="Ctrl+K" />
      </button>
      <IconButton icon="clock" label="History" title="History (Alt H)" onClick={() => (app.sheet.value = 'history')} />
      <IconButton
        icon={app.theme.value === 'dark' ? 'sun' : 'moon'}
        label={themeTitle}
        title={themeTitle}
        onClick={() => app.toggleTheme()}
      />
      <IconButton
        icon="help"
        label="Keys and help"
        title="Keys and help (?)"
        onClick={() => (app.sheet.value = 'help')}
      />
    </header>
  );
}

const STATES = {
  loading: 'Connecting',
  ready: 'Connected',
  gone: 'No connection',
  'signed-out': 'Signed out',
} as const;

/** A dot whose shape and text say the same as its colour. */
function ConnectionState({ app }: { readonly app: AppState }): JSX.Element {
  const state = app.connection.value;
  return (
    <span class={`connection ${state}`} title={STATES[state]} role="img" aria-label={STATES[state]}>
      <span class="dot" />
    </span>
  );
}
