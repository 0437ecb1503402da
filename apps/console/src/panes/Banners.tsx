import type { JSX } from 'preact';
import type { AppState, Banner } from '../state/app-state.ts';
import { Icon } from './Icon.tsx';
import { useNow } from './use-now.ts';

/** The lines above the page: a server that is gone, and what else the page has to say. */
export function Banners({ app }: { readonly app: AppState }): JSX.Element {
  const banner = app.banner.value;
  return (
    <div class="banners" role="status">
      {app.connection.value === 'gone' && <GoneBanner app={app} />}
      {banner && <BannerLine banner={banner} onDismiss={() => (app.banner.value = undefined)} />}
      {app.notice.value && <p class="notice">{app.notice.value}</p>}
    </div>
  );
}

function GoneBanner({ app }: { readonly app: AppState }): JSX.Element {
  const nowMs = useNow(true);
  const retryAtMs = app.retryAtMs.value;
  const seconds = retryAtMs === undefined ? 0 : Math.max(0, Math.ceil((retryAtMs - nowMs) / 1000));
  return (
    <div class="banner warning">
      <Icon name="warning" />
      <p>
        The server does not answer. What you typed is kept.{' '}
        <span aria-hidden="true">{seconds > 0 ? `Next try in ${seconds} s.` : 'Trying again…'}</span>
      </p>
      <button type="button" onClick={() => void app.refreshFrames()}>
        Try now
      </button>
    </div>
  );
}

function BannerLine({ banner, onDismiss }: { readonly banner: Banner; readonly onDismiss: () => void }): JSX.Element {
  const { tone, text, hint, action } = banner;
  return (
    <div class={`banner ${tone}`}>
      <Icon name={tone === 'info' ? 'info' : 'warning'} />
      <p>
        {text} {hint && <span class="hint">{hint}</span>}
      </p>
      {action && (
        <button type="button" onClick={action.run}>
          {action.title}
        </button>
      )}
      <button type="button" class="quiet" aria-label="Dismiss" onClick={onDismiss}>
        <Icon name="close" />
      </button>
    </div>
  );
}
